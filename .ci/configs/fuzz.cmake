# cmake -C .ci/configs/fuzz.cmake -B build-fuzz -G Ninja
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_CXX_COMPILER clang++ CACHE STRING "")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1" CACHE STRING "")
set(UNSHARD_SANITIZE "address,undefined" CACHE STRING "")
set(UNSHARD_FUZZ ON CACHE BOOL "")
