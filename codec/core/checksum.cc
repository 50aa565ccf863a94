#include "codec/core/checksum.h"

#include "codec/core/crc_tables.h"

#ifdef UNSHARD_ISAL
#include <isa-l/crc.h>
#endif

namespace unshard {
namespace {

constexpr CrcTables kHighTables = HighBitFirstTables(0x04c11db7);

}  // namespace

std::uint32_t ExtendChecksumByTable(std::uint32_t sum, ByteSpan bytes) {
  std::uint32_t crc = ~sum;
  while (bytes.size() >= 8) {
    const std::uint32_t first = crc ^ LoadU32Be(bytes.data());
    const std::uint32_t second = LoadU32Be(bytes.data() + 4);
    crc = kHighTables[7][first >> 24] ^ kHighTables[6][first >> 16 & 0xff] ^
          kHighTables[5][first >> 8 & 0xff] ^ kHighTables[4][first & 0xff] ^
          kHighTables[3][second >> 24] ^ kHighTables[2][second >> 16 & 0xff] ^
          kHighTables[1][second >> 8 & 0xff] ^ kHighTables[0][second & 0xff];
    bytes = bytes.subspan(8);
  }
  for (const std::uint8_t byte : bytes) crc = crc << 8 ^ kHighTables[0][crc >> 24 ^ byte];
  return ~crc;
}

std::uint32_t ExtendChecksum(std::uint32_t sum, ByteSpan bytes) {
#ifdef UNSHARD_ISAL
  return crc32_ieee(sum, bytes.data(), bytes.size());
#else
  return ExtendChecksumByTable(sum, bytes);
#endif
}

std::uint32_t Checksum(ByteSpan bytes) { return ExtendChecksum(0, bytes); }

}  // namespace unshard
