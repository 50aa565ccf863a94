# cmake -C .ci/configs/asan.cmake -B build-asan -G Ninja
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
# clang compiles these tests in less than half of g++'s time, and warns of other things.
set(CMAKE_CXX_COMPILER clang++ CACHE STRING "")
set(UNSHARD_SANITIZE "address,undefined" CACHE STRING "")
# Without optimisation store/ and fs/ compile in less than half of the time, and their tests take little longer;
# those of codec/, with its loops over voxels, take twice as long.
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1" CACHE STRING "")
set(UNSHARD_CODEC_FLAGS -O1 CACHE STRING "")
set(UNSHARD_TESTS ON CACHE BOOL "")
set(UNSHARD_UNITY ON CACHE BOOL "")
