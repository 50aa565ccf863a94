# A build with every library that it may lack: it fails where one is missing.
foreach(name ISAL LIBDEFLATE ZSTD BLOSC LZ4 BZIP2 LZMA BROTLI PNG JXL ZFP URING)
  set(UNSHARD_${name} ON CACHE STRING "AUTO, ON or OFF")
endforeach()
