#include "codec/core/crc32c.h"

#include <algorithm>

#include "codec/core/crc_tables.h"

#ifdef UNSHARD_ISAL
#include <isa-l/crc.h>
#endif

namespace unshard {
namespace {

constexpr CrcTables kLowTables = LowBitFirstTables(0x82f63b78);

}  // namespace

std::uint32_t Crc32cExtendByTable(std::uint32_t crc, ByteSpan bytes) {
  crc = ~crc;
  while (bytes.size() >= 8) {
    const std::uint32_t first = crc ^ LoadU32Le(bytes.data());
    const std::uint32_t second = LoadU32Le(bytes.data() + 4);
    crc = kLowTables[7][first & 0xff] ^ kLowTables[6][first >> 8 & 0xff] ^
          kLowTables[5][first >> 16 & 0xff] ^ kLowTables[4][first >> 24] ^
          kLowTables[3][second & 0xff] ^ kLowTables[2][second >> 8 & 0xff] ^
          kLowTables[1][second >> 16 & 0xff] ^ kLowTables[0][second >> 24];
    bytes = bytes.subspan(8);
  }
  for (const std::uint8_t byte : bytes) crc = crc >> 8 ^ kLowTables[0][(crc ^ byte) & 0xff];
  return ~crc;
}

#ifdef UNSHARD_ISAL

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

#else

std::uint32_t Crc32cExtend(std::uint32_t crc, ByteSpan bytes) {
  return Crc32cExtendByTable(crc, bytes);
}

#endif

std::uint32_t Crc32c(ByteSpan bytes) { return Crc32cExtend(0, bytes); }

}  // namespace unshard
