// The checksum that distinguishes versions of one chunk.
#pragma once

#include <cstdint>

#include "codec/core/bytes.h"

namespace unshard {

// CRC-32 of the bits from the highest to the lowest (CRC-32/BZIP2). Not one that chunks contain:
// bytes that are followed by their own crc32c, as the codec of Zarr v3 stores them, all have the
// same crc32c, and the blocks of a PNG the same CRC-32 in its order of bits.
std::uint32_t Checksum(ByteSpan bytes);

// Continues a checksum: that of the bytes that `sum` covers (0: none), followed by `bytes`.
std::uint32_t ExtendChecksum(std::uint32_t sum, ByteSpan bytes);

}  // namespace unshard
