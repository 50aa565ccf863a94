// Tables of a CRC of 32 bits, for eight bytes at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace unshard {

// tables[n][byte]: what `byte` followed by n zeros does to the CRC.
using CrcTables = std::array<std::array<std::uint32_t, 256>, 8>;

// Of a CRC that takes the lowest bit of a byte first; `polynomial` has its bits in that order.
constexpr CrcTables LowBitFirstTables(std::uint32_t polynomial) {
  CrcTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t zeros = 1; zeros < tables.size(); ++zeros) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[zeros - 1][byte];
      tables[zeros][byte] = crc >> 8 ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}

// Of a CRC that takes the highest bit of a byte first.
constexpr CrcTables HighBitFirstTables(std::uint32_t polynomial) {
  CrcTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte << 24;
    for (int bit = 0; bit < 8; ++bit) crc = crc << 1 ^ ((crc >> 31) != 0 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t zeros = 1; zeros < tables.size(); ++zeros) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[zeros - 1][byte];
      tables[zeros][byte] = crc << 8 ^ tables[0][crc >> 24];
    }
  }
  return tables;
}

}  // namespace unshard
