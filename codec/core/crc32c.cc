#include "codec/core/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace unshard {

std::uint32_t Crc32cExtend(std::uint32_t crc, ByteSpan bytes) {
  constexpr std::size_t kMaxStep = std::size_t{1} << 30;  // the library counts in int
  crc = ~crc;
  while (!bytes.empty()) {
    const std::size_t step = std::min(bytes.size(), kMaxStep);
    // The library's signature lacks a const; it only reads.
    crc = crc32_iscsi(const_cast<unsigned char*>(bytes.data()), static_cast<int>(step), crc);
    bytes = bytes.subspan(step);
  }
  return ~crc;
}

std::uint32_t Crc32c(ByteSpan bytes) { return Crc32cExtend(0, bytes); }

}  // namespace unshard
