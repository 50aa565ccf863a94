// The checksum that distinguishes versions of one chunk.
#pragma once

#include <cstdint>

#include "codec/core/bytes.h"

namespace unshard {

// CRC-32/BZIP2. It must differ from the checksums that chunks contain themselves: all byte strings
// that end with their own crc32c, as Zarr's codec stores them, have the same crc32c, and likewise
// the chunks of a PNG file with its CRC-32.
std::uint32_t Checksum(ByteSpan bytes);

// Continues a checksum: that of the bytes that `sum` covers (0: none), followed by `bytes`.
std::uint32_t ExtendChecksum(std::uint32_t sum, ByteSpan bytes);
// The same without isa-l, for a build that lacks it.
std::uint32_t ExtendChecksumByTable(std::uint32_t sum, ByteSpan bytes);

}  // namespace unshard
