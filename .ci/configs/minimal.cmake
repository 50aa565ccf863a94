# A build without any library that it may lack: cmake -C .ci/configs/minimal.cmake -S . -B build-minimal
foreach(name ISAL LIBDEFLATE ZSTD BLOSC LZ4 BZIP2 LZMA BROTLI PNG JXL ZFP URING)
  set(UNSHARD_${name} OFF CACHE STRING "AUTO, ON or OFF")
endforeach()
