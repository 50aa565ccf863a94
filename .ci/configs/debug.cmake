# cmake -C .ci/configs/debug.cmake -B build-debug -G Ninja
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(UNSHARD_TESTS ON CACHE BOOL "")
