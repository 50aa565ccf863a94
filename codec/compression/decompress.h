// Bounded decompression of whole buffers in the formats that may stand around a shard.
//
// All fail with kDataLoss on damage, truncation and trailing bytes, and with kResourceExhausted as
// soon as the output would exceed `max_bytes`; no announced size is trusted before it is bounded.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>

#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

// One zlib stream (RFC 1950).
Result<ByteVector> ZlibDecode(ByteSpan stored, std::uint64_t max_bytes);
// One or more zstd frames, with or without announced content size.
Result<ByteVector> ZstdDecode(ByteSpan stored, std::uint64_t max_bytes);
// One or more bzip2 streams.
Result<ByteVector> Bzip2Decode(ByteSpan stored, std::uint64_t max_bytes);
// One Blosc 1 buffer.
Result<ByteVector> BloscDecode(ByteSpan stored, std::uint64_t max_bytes);
// numcodecs' form of LZ4: the plain size as u32 little-endian, then one LZ4 block.
Result<ByteVector> Lz4Decode(ByteSpan stored, std::uint64_t max_bytes);

}  // namespace unshard
