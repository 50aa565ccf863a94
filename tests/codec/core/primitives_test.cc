// crc32c, the checksum of versions, murmurhash3 and the compressed Morton code against published
// vectors.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "codec/core/checksum.h"
#include "codec/core/crc32c.h"
#include "codec/grid/morton.h"
#include "codec/precomputed/murmurhash3.h"
#include "codec/precomputed/shard.h"

namespace unshard {
namespace {

using Cell = std::vector<std::uint64_t>;

TEST(Crc32c, MatchesPublishedVectors) {
  EXPECT_EQ(Crc32c(AsBytes("123456789")), 0xe3069283U);
  EXPECT_EQ(Crc32c({}), 0U);
  EXPECT_EQ(Crc32c(ByteVector(32, 0x00)), 0x8a9136aaU);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(ByteVector(32, 0xFF)), 0x62a8ab43U);
}

TEST(Crc32c, IsContinued) {
  const ByteSpan bytes = AsBytes("123456789");
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    EXPECT_EQ(Crc32cExtend(Crc32c(bytes.first(at)), bytes.subspan(at)), 0xe3069283U) << at;
  }
}

TEST(Checksum, MatchesItsPublishedVectorAndIsContinued) {
  const ByteSpan bytes = AsBytes("123456789");
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    EXPECT_EQ(ExtendChecksum(Checksum(bytes.first(at)), bytes.subspan(at)), 0xfc891918U) << at;
  }
}

// With isa-l and without: what was stored by one build is read by another one.
TEST(Checksum, AllBuildsComputeTheSame) {
  ByteVector bytes(5000);
  std::uint32_t state = 1;
  for (std::uint8_t& byte : bytes) {
    byte = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  }
  EXPECT_EQ(ExtendChecksumByTable(0, AsBytes("123456789")), 0xfc891918U);
  EXPECT_EQ(Crc32cExtendByTable(0, AsBytes("123456789")), 0xe3069283U);
  for (std::size_t size = 0; size < 100; ++size) {
    for (const std::size_t at : {0UL, 1UL, 7UL, 4093UL - size}) {
      const ByteSpan part = ByteSpan(bytes).subspan(at, size);
      EXPECT_EQ(ExtendChecksumByTable(state, part), ExtendChecksum(state, part)) << at;
      EXPECT_EQ(Crc32cExtendByTable(state, part), Crc32cExtend(state, part)) << at;
    }
  }
  EXPECT_EQ(ExtendChecksumByTable(7, bytes), ExtendChecksum(7, bytes));
  EXPECT_EQ(Crc32cExtendByTable(7, bytes), Crc32cExtend(7, bytes));
}

TEST(Checksum, BytesWithTheirOwnCrc32cAreDistinguished) {
  const auto with_crc32c = [](std::string text) {
    const std::uint32_t crc = Crc32c(AsBytes(text));
    for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(crc >> shift);
    return text;
  };
  const std::string a = with_crc32c("one"), b = with_crc32c("two");
  EXPECT_EQ(Crc32c(AsBytes(a)), Crc32c(AsBytes(b)));
  EXPECT_NE(Checksum(AsBytes(a)), Checksum(AsBytes(b)));
}

TEST(MurmurHash3, MatchesReferenceVectors) {
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> vectors = {
      {0, 0x4772b084e028ae41},
      {1, 0xe8bd67d616d4ce9a},
      {2, 0xd62f9cd21b013f5a},
      {3, 0x6b596e4f0e43e4d1},
      {std::uint64_t{1} << 32, 0xbbb12d133b78fd64},
      {std::numeric_limits<std::uint64_t>::max(), 0x574f66bd212b5d1a},
      {720575940379279312, 0xdb6378ad3e6e2bfa},
      {42, 0xc20b94f95119f47a}};
  for (const auto& [value, hash] : vectors) EXPECT_EQ(MurmurHash3X86_128Of64(value), hash) << value;
}

TEST(CompressedMorton, MatchesReferenceVectorsBothWays) {
  struct Vector {
    Cell cell, grid;
    std::uint64_t code;
  };
  const std::vector<Vector> vectors = {
      {{3, 0, 2}, {4, 1, 3}, 13},
      {{5, 3, 7}, {6, 4, 8}, 247},
      {{7, 1, 0}, {8, 2, 1}, 15},
      {{10, 9, 8}, {11, 10, 9}, 3594},
      {{1, 2, 3}, {2, 3, 5}, 29},
      {{42942, 8191, 16777215}, {42943, 8192, 1 << 24}, 0x1ffdedfffbfffe},
      {{0, 0, 0}, {1, 1, 1}, 0}};
  for (const auto& [cell, grid, code] : vectors) {
    const auto morton = CompressedMorton::Make(grid);
    ASSERT_TRUE(morton);
    EXPECT_EQ(morton->Encode(cell), code);
    Cell decoded(cell.size());
    EXPECT_TRUE(morton->Decode(code, decoded));
    EXPECT_EQ(decoded, cell);
  }
}

TEST(CompressedMorton, EveryCellHasItsOwnCodeAndOtherCodesHaveNone) {
  for (const MortonRule rule : {MortonRule::kStandard, MortonRule::kLegacy}) {
    for (const Cell& grid : {Cell{4, 1, 3}, Cell{5, 2, 7}, Cell{3}, Cell{2, 3, 1, 4}, Cell{}}) {
      const auto morton = CompressedMorton::Make(grid, rule);
      ASSERT_TRUE(morton);
      std::uint64_t cells = 1;
      for (const std::uint64_t extent : grid) cells *= extent;
      std::uint64_t found = 0;
      Cell cell(grid.size());
      for (std::uint64_t code = 0; code < std::uint64_t{2} << morton->total_bits(); ++code) {
        if (!morton->Decode(code, cell)) continue;
        ++found;
        EXPECT_EQ(morton->Encode(cell), code);
      }
      EXPECT_EQ(found, cells);
    }
  }
}

TEST(CompressedMorton, LegacyRuleSpendsABitMoreOnPowersOfTwo) {
  const auto legacy = CompressedMorton::Make(Cell{4, 1, 3}, MortonRule::kLegacy);
  ASSERT_TRUE(legacy);
  EXPECT_EQ(legacy->total_bits(), 3U + 1U + 2U);
  // x0 y0 z0 x1 z1 x2
  EXPECT_EQ(legacy->Encode(Cell{3, 0, 2}), 0b011001U);
  EXPECT_EQ(CompressedMorton::Make(Cell{4, 1, 3})->total_bits(), 2U + 0U + 2U);
}

TEST(CompressedMorton, CodesOfSixtyFourBitsAreTheLimit) {
  const std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  const auto widest = CompressedMorton::Make(Cell{max, 1});
  ASSERT_TRUE(widest);
  EXPECT_EQ(widest->total_bits(), 64U);
  Cell cell(2);
  EXPECT_TRUE(widest->Decode(max - 1, cell));
  EXPECT_EQ(cell, (Cell{max - 1, 0}));
  EXPECT_FALSE(widest->Decode(max, cell));
  const auto too_wide = CompressedMorton::Make(Cell{max, 2});
  ASSERT_FALSE(too_wide);
  EXPECT_EQ(too_wide.error().code, ErrorCode::kDataLoss);
  EXPECT_FALSE(CompressedMorton::Make(Cell(100, max)));
}

TEST(CompressedMorton, EmptyGridHasNoCells) {
  const auto morton = CompressedMorton::Make(Cell{0, 4});
  ASSERT_TRUE(morton);
  Cell cell(2);
  EXPECT_FALSE(morton->Decode(0, cell));
}

}  // namespace
}  // namespace unshard
