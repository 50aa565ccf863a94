// CRC-32C (Castagnoli), as the Zarr v3 crc32c codec uses it.
#pragma once

#include <cstdint>

#include "codec/core/bytes.h"

namespace unshard {

std::uint32_t Crc32c(ByteSpan bytes);

// Continues a checksum: that of the bytes that `crc` covers (0: none), followed by `bytes`.
std::uint32_t Crc32cExtend(std::uint32_t crc, ByteSpan bytes);
// The same without isa-l, for a build that lacks it.
std::uint32_t Crc32cExtendByTable(std::uint32_t crc, ByteSpan bytes);

}  // namespace unshard
