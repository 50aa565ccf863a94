// Compression of whole buffers in the formats that codec/compression/decompress.h reads. (gzip:
// codec/compression/gzip.h.)
//
// The same input gives the same bytes with the same version of the library. All fail with
// kResourceExhausted where the format or its library cannot take so many bytes, or memory is short;
// the message begins with the name of the format. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

// One zlib stream. `level` 0..9.
Result<ByteVector> ZlibEncode(ByteSpan plain, int level);
// One zstd frame that announces its content size. Any level; 0 is the library's default.
Result<ByteVector> ZstdEncode(ByteSpan plain, int level, bool checksum);
// One bzip2 stream. `level` 1..9.
Result<ByteVector> Bzip2Encode(ByteSpan plain, int level);

struct BloscOptions {
  std::string compressor = "lz4";
  int level = 5;  // 0..9
  enum class Shuffle { kNone = 0, kBytes = 1, kBits = 2 };
  Shuffle shuffle = Shuffle::kBytes;
  std::uint64_t element_size = 1;  // of what is shuffled
  std::uint64_t block_size = 0;    // 0: the library chooses
};
// True where the library in use was built with this compressor.
bool BloscCanEncode(const BloscOptions& options);
// One Blosc 1 buffer. Requires: BloscCanEncode.
Result<ByteVector> BloscEncode(ByteSpan plain, const BloscOptions& options);

// numcodecs' form of LZ4. `acceleration` 1 compresses most.
Result<ByteVector> Lz4Encode(ByteSpan plain, int acceleration);

}  // namespace unshard
