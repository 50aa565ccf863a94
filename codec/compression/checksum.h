// Checksums of 32 bits, little-endian, before or after the bytes that they protect.
#pragma once

#include "codec/compression/codec_options.h"

namespace unshard {

// crc32c of Zarr follows its bytes. The numcodecs forms have a `location`; without one crc32c
// follows the bytes, crc32 and adler32 precede them.
MakeCodec MakeCrc32c;
MakeCodec MakeCrc32;
MakeCodec MakeAdler32;

}  // namespace unshard
