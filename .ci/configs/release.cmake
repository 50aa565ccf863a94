# cmake -C .ci/configs/release.cmake -B build-release -G Ninja
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(UNSHARD_TESTS ON CACHE BOOL "")
