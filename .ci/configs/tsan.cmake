# cmake -C .ci/configs/tsan.cmake -B build-tsan -G Ninja
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(UNSHARD_SANITIZE "thread" CACHE STRING "")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1" CACHE STRING "")
set(UNSHARD_TESTS ON CACHE BOOL "")
set(UNSHARD_UNITY ON CACHE BOOL "")
# Under this sanitizer tests without optimisation run twice as long, which costs more than compiling them.
set(UNSHARD_TEST_FLAGS -O1 -g1 CACHE STRING "")
