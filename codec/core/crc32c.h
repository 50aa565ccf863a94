// CRC-32C (Castagnoli), as the Zarr v3 crc32c codec uses it.
#pragma once

#include <cstdint>

#include "codec/core/bytes.h"

namespace unshard {

std::uint32_t Crc32c(ByteSpan bytes);

// The checksum of what `crc` is the checksum of (0: nothing), followed by `bytes`.
std::uint32_t Crc32cExtend(std::uint32_t crc, ByteSpan bytes);

}  // namespace unshard
