#include "codec/grid/chunk_key.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace unshard {
namespace {

using Shape = std::vector<std::uint64_t>;
constexpr ChunkKeyEncoding kDefaultSlash{ChunkKeyEncoding::Kind::kDefault, '/'};
constexpr ChunkKeyEncoding kDefaultDot{ChunkKeyEncoding::Kind::kDefault, '.'};
constexpr ChunkKeyEncoding kV2Dot{ChunkKeyEncoding::Kind::kV2, '.'};
constexpr ChunkKeyEncoding kV2Slash{ChunkKeyEncoding::Kind::kV2, '/'};

ChunkGrid MakeGrid(Shape shape, Shape chunk_shape, std::vector<std::int64_t> origin) {
  auto grid = ChunkGrid::Make(std::move(shape), std::move(chunk_shape), std::move(origin));
  EXPECT_TRUE(grid);
  return grid.value_or(ChunkGrid());
}

NameMatch Range(std::string_view name) {
  GridCell cell;
  return ParseChunkRangeName(MakeGrid({200, 100, 64}, {64, 64, 64}, {0, 0, -64}), name, cell);
}

TEST(ChunkRangeNameTest, JoinsClippedRanges) {
  const ChunkGrid grid = MakeGrid({200, 100, 64}, {64, 64, 64}, {0, 0, -64});
  EXPECT_EQ(ChunkRangeName(grid, Shape{3, 1, 0}), "192-200_64-100_-64-0");
}

TEST(ChunkRangeNameTest, ParsesNegativeRanges) {
  const ChunkGrid grid = MakeGrid({300}, {100}, {-300});
  GridCell cell;
  EXPECT_EQ(ParseChunkRangeName(grid, "-300--200", cell), NameMatch::kChunk);
  EXPECT_EQ(cell, (GridCell{0}));
  EXPECT_EQ(ParseChunkRangeName(grid, "-100-0", cell), NameMatch::kChunk);
  EXPECT_EQ(cell, (GridCell{2}));
  EXPECT_EQ(ParseChunkRangeName(grid, "-100--0", cell), NameMatch::kNoChunk);
}

TEST(ChunkRangeNameTest, FindsNamesThatNoChunkCanHave) {
  EXPECT_EQ(Range("0-64_0-64_-64-0"), NameMatch::kChunk);
  EXPECT_EQ(Range("192-256_0-64_-64-0"), NameMatch::kNoChunk) << "not clipped";
  EXPECT_EQ(Range("00-64_0-64_-64-0"), NameMatch::kNoChunk) << "leading zero";
  EXPECT_EQ(Range("0-064_0-64_-64-0"), NameMatch::kNoChunk) << "leading zero";
  EXPECT_EQ(Range("1-65_0-64_-64-0"), NameMatch::kNoChunk) << "off the grid";
  EXPECT_EQ(Range("256-320_0-64_-64-0"), NameMatch::kNoChunk) << "outside";
  EXPECT_EQ(Range("-64-0_0-64_-64-0"), NameMatch::kNoChunk) << "before the origin";
  EXPECT_EQ(Range("-0-64_0-64_-64-0"), NameMatch::kNoChunk) << "minus zero";
  EXPECT_EQ(Range("99999999999999999999-1_0-64_-64-0"), NameMatch::kNoChunk) << "over 64 bits";
  EXPECT_EQ(Range("0-64_0-64_-64-0.gz"), NameMatch::kNoChunk) << "CloudVolume's probe";
  EXPECT_EQ(Range("640-704_0-64_-64-0.br"), NameMatch::kNoChunk) << "CloudVolume's probe";
}

TEST(ChunkRangeNameTest, LeavesOtherNamesAlone) {
  for (const char* name :
       {"", "info", "0-64", "0-64_0-64", "0-64_0-64_-64-0_0-1", "0-64_0-64_-64-", "0-64_0-64_+64-0",
        "0-64_0-64_-64-0.tmp", "0-64_0-64_-64-0 ", "_", "-", "0-64_0-64_0_64", "0-64__-64-0", ".gz",
        "0-64_0-64_-64-0.gz.gz", "0-64_0-64_--64-0"}) {
    EXPECT_EQ(Range(name), NameMatch::kOther) << name;
  }
}

TEST(ChunkRangeNameTest, GivesBackEveryCellOfRandomGrids) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 300; ++i) {
    const std::size_t rank = 1 + random() % 4;
    Shape shape(rank), chunk(rank);
    std::vector<std::int64_t> origin(rank);
    GridCell cell(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      shape[d] = 1 + random() % 5000;
      chunk[d] = 1 + random() % 200;
      origin[d] = static_cast<std::int64_t>(random() % 4000) - 2000;
      cell[d] = random() % ((shape[d] + chunk[d] - 1) / chunk[d]);
    }
    const ChunkGrid grid = MakeGrid(shape, chunk, origin);
    GridCell parsed;
    ASSERT_EQ(ParseChunkRangeName(grid, ChunkRangeName(grid, cell), parsed), NameMatch::kChunk);
    EXPECT_EQ(parsed, cell);
  }
}

TEST(CellCoordinatesNameTest, TakesAnyRank) {
  GridCell cell;
  EXPECT_EQ(CellCoordinatesName(Shape{3, 0, 12, 7}), "3_0_12_7");
  EXPECT_EQ(ParseCellCoordinatesName(Shape{4, 1, 13, 8}, "3_0_12_7", cell), NameMatch::kChunk);
  EXPECT_EQ(cell, (GridCell{3, 0, 12, 7}));
  EXPECT_EQ(ParseCellCoordinatesName(Shape{4}, "3", cell), NameMatch::kChunk);
}

TEST(CellCoordinatesNameTest, IsStrict) {
  GridCell cell;
  EXPECT_EQ(ParseCellCoordinatesName(Shape{4, 4}, "4_0", cell), NameMatch::kNoChunk);
  EXPECT_EQ(ParseCellCoordinatesName(Shape{4, 4}, "01_0", cell), NameMatch::kNoChunk);
  EXPECT_EQ(ParseCellCoordinatesName(Shape{4, 4}, "1_0.gz", cell), NameMatch::kNoChunk);
  EXPECT_EQ(ParseCellCoordinatesName(Shape{4, 4}, "1_0_0", cell), NameMatch::kOther);
  EXPECT_EQ(ParseCellCoordinatesName(Shape{4, 4}, "-1_0", cell), NameMatch::kOther);
  EXPECT_EQ(ParseCellCoordinatesName(Shape{4, 4}, "1_", cell), NameMatch::kOther);
}

TEST(IdNameTest, TakesEveryUint64AndNothingElse) {
  std::uint64_t id = 0;
  EXPECT_EQ(ParseIdName("18446744073709551615", id), NameMatch::kChunk);
  EXPECT_EQ(id, ~std::uint64_t{0});
  EXPECT_EQ(ParseIdName("0", id), NameMatch::kChunk);
  EXPECT_EQ(id, 0u);
  EXPECT_EQ(ParseIdName("18446744073709551616", id), NameMatch::kNoChunk);
  EXPECT_EQ(ParseIdName("007", id), NameMatch::kNoChunk);
  EXPECT_EQ(ParseIdName("7.gz", id), NameMatch::kNoChunk);
  for (const char* name : {"", "info", "-1", "+1", "1 ", "0x1", "7:0", "7.index", "1e3"}) {
    EXPECT_EQ(ParseIdName(name, id), NameMatch::kOther) << name;
  }
}

TEST(MeshFileNameTest, TellsFragmentsAndManifest) {
  std::uint64_t id = 0;
  ChunkPart part = ChunkPart::kFragments;
  EXPECT_EQ(ParseMeshFileName("42.index", id, part), NameMatch::kChunk);
  EXPECT_EQ(id, 42u);
  EXPECT_EQ(part, ChunkPart::kPlain);
  EXPECT_EQ(ParseMeshFileName("43", id, part), NameMatch::kChunk);
  EXPECT_EQ(id, 43u);
  EXPECT_EQ(part, ChunkPart::kFragments);
  EXPECT_EQ(MeshFileName(42, ChunkPart::kPlain), "42.index");
  EXPECT_EQ(MeshFileName(42, ChunkPart::kFragments), "42");
}

TEST(MeshFileNameTest, LeavesLegacyMeshesAndPropertiesAlone) {
  std::uint64_t id = 0;
  ChunkPart part = ChunkPart::kFragments;
  EXPECT_EQ(ParseMeshFileName("042.index", id, part), NameMatch::kNoChunk);
  EXPECT_EQ(ParseMeshFileName("42.index.gz", id, part), NameMatch::kNoChunk);
  for (const char* name : {"42:0", "42:0:1-2_3-4_5-6", "info", ".index", "42.index.index"}) {
    EXPECT_EQ(ParseMeshFileName(name, id, part), NameMatch::kOther) << name;
  }
}

TEST(ZarrChunkKeyTest, WritesAllEncodings) {
  const Shape cell{1, 23, 45};
  EXPECT_EQ(ZarrChunkKey(kDefaultSlash, cell), "c/1/23/45");
  EXPECT_EQ(ZarrChunkKey(kDefaultDot, cell), "c.1.23.45");
  EXPECT_EQ(ZarrChunkKey(kV2Dot, cell), "1.23.45");
  EXPECT_EQ(ZarrChunkKey(kV2Slash, cell), "1/23/45");
  EXPECT_EQ(ZarrChunkKey(kDefaultSlash, {}), "c");
  EXPECT_EQ(ZarrChunkKey(kV2Dot, {}), "0");
}

TEST(ZarrChunkKeyTest, ParsesWhatItWrites) {
  const Shape grid_shape{2, 24, 46};
  for (const auto& encoding : {kDefaultSlash, kDefaultDot, kV2Dot, kV2Slash}) {
    const Shape cell{1, 23, 45};
    GridCell parsed;
    EXPECT_EQ(ParseZarrChunkKey(encoding, grid_shape, ZarrChunkKey(encoding, cell), parsed),
              NameMatch::kChunk);
    EXPECT_EQ(parsed, cell);
    EXPECT_EQ(ParseZarrChunkKey(encoding, {}, ZarrChunkKey(encoding, {}), parsed),
              NameMatch::kChunk);
    EXPECT_TRUE(parsed.empty());
  }
}

TEST(ZarrChunkKeyTest, IsStrict) {
  const Shape grid_shape{2, 24};
  GridCell cell;
  const auto match = [&](const ChunkKeyEncoding& encoding, std::string_view key) {
    return ParseZarrChunkKey(encoding, grid_shape, key, cell);
  };
  EXPECT_EQ(match(kDefaultSlash, "c/2/0"), NameMatch::kNoChunk);
  EXPECT_EQ(match(kDefaultSlash, "c/01/0"), NameMatch::kNoChunk);
  EXPECT_EQ(match(kDefaultSlash, "c/1/0.gz"), NameMatch::kNoChunk);
  EXPECT_EQ(match(kV2Dot, "2.0"), NameMatch::kNoChunk);
  EXPECT_EQ(match(kV2Dot, "1.0.xz"), NameMatch::kNoChunk);
  for (const char* key : {"", "c", "c/1", "c/1/0/0", "c/1/-0", "c/1/", "c//0", "zarr.json", "1/0",
                          "c.1.0", "C/1/0", "c/1/0.tmp"}) {
    EXPECT_EQ(match(kDefaultSlash, key), NameMatch::kOther) << key;
  }
  EXPECT_EQ(match(kV2Slash, "c/1/0"), NameMatch::kOther);
  EXPECT_EQ(match(kDefaultDot, "c/1/0"), NameMatch::kOther);
}

TEST(ZarrChunkKeyTest, CountsPathComponents) {
  EXPECT_EQ(ZarrChunkKeyDepth(kDefaultSlash, 3), 4u);
  EXPECT_EQ(ZarrChunkKeyDepth(kV2Slash, 3), 3u);
  EXPECT_EQ(ZarrChunkKeyDepth(kDefaultDot, 3), 1u);
  EXPECT_EQ(ZarrChunkKeyDepth(kV2Dot, 3), 1u);
  EXPECT_EQ(ZarrChunkKeyDepth(kDefaultSlash, 0), 1u);
  EXPECT_EQ(ZarrChunkKeyDepth(kV2Slash, 0), 1u);
}

TEST(CompressionSuffixTest, KnowsWhatCloudVolumeProbesFor) {
  EXPECT_EQ(WithoutCompressionSuffix("a.gz"), "a");
  EXPECT_EQ(WithoutCompressionSuffix("a.zstd"), "a");
  EXPECT_EQ(WithoutCompressionSuffix("a.bz2"), "a");
  EXPECT_EQ(WithoutCompressionSuffix("a"), std::nullopt);
  EXPECT_EQ(WithoutCompressionSuffix(".gz"), std::nullopt);
  EXPECT_EQ(WithoutCompressionSuffix("a.zip"), std::nullopt);
}

}  // namespace
}  // namespace unshard
