#include "codec/grid/chunk_grid.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace unshard {
namespace {

using Shape = std::vector<std::uint64_t>;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(ChunkGridTest, RoundsTheNumberOfCellsUp) {
  const auto grid = ChunkGrid::Make({100, 64, 1}, {64, 64, 64});
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->grid_shape(), (Shape{2, 1, 1}));
  EXPECT_EQ(grid->cell_count(), 2u);
}

TEST(ChunkGridTest, ClipsTheLastCellAndAddsTheOrigin) {
  const auto grid = ChunkGrid::Make({100}, {64}, {-64});
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->Extent(Shape{0}, 0).begin, -64);
  EXPECT_EQ(grid->Extent(Shape{0}, 0).end, 0);
  EXPECT_EQ(grid->Extent(Shape{1}, 0).begin, 0);
  EXPECT_EQ(grid->Extent(Shape{1}, 0).end, 36);
  EXPECT_EQ(grid->ClippedElementCount(Shape{0}), 64u);
  EXPECT_EQ(grid->ClippedElementCount(Shape{1}), 36u);
}

TEST(ChunkGridTest, HasOneCellAtRankZero) {
  const auto grid = ChunkGrid::Make({}, {});
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->cell_count(), 1u);
  EXPECT_TRUE(grid->Contains({}));
  EXPECT_EQ(grid->ClippedElementCount({}), 1u);
  EXPECT_EQ(ChunkGrid().cell_count(), 1u);
}

TEST(ChunkGridTest, HasNoCellsWhereADimensionHasNoExtent) {
  const auto grid = ChunkGrid::Make({0, kMax / 2, kMax / 2}, {1, 1, 1});
  ASSERT_TRUE(grid) << grid.error().message;
  EXPECT_EQ(grid->cell_count(), 0u);
  EXPECT_FALSE(grid->Contains(Shape{0, 0, 0}));
}

TEST(ChunkGridTest, ContainsOnlyCellsOfItsRankWithinTheGrid) {
  const auto grid = ChunkGrid::Make({10, 10}, {5, 5});
  ASSERT_TRUE(grid);
  EXPECT_TRUE(grid->Contains(Shape{1, 1}));
  EXPECT_FALSE(grid->Contains(Shape{1, 2}));
  EXPECT_FALSE(grid->Contains(Shape{1}));
  EXPECT_FALSE(grid->Contains(Shape{1, 1, 0}));
}

TEST(ChunkGridTest, RefusesRanksThatDiffer) {
  EXPECT_EQ(ChunkGrid::Make({1, 2}, {1}).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(ChunkGrid::Make({1, 2}, {1, 1}, {0}).error().code, ErrorCode::kDataLoss);
}

TEST(ChunkGridTest, RefusesAChunkExtentOfZero) {
  const auto grid = ChunkGrid::Make({1, 2}, {1, 0});
  ASSERT_FALSE(grid);
  EXPECT_NE(grid.error().message.find("dimension 1"), std::string::npos) << grid.error().message;
}

TEST(ChunkGridTest, RefusesAnEndBeyond63Bits) {
  EXPECT_TRUE(ChunkGrid::Make({kMax / 2}, {1}));
  EXPECT_FALSE(ChunkGrid::Make({kMax / 2 + 1}, {1}));
  EXPECT_FALSE(ChunkGrid::Make({kMax / 2}, {1}, {1}));
  EXPECT_FALSE(ChunkGrid::Make({kMax}, {1}));
}

TEST(ChunkGridTest, CoversTheWholeSigned64BitSpace) {
  const auto lowest = std::numeric_limits<std::int64_t>::min();
  const auto grid = ChunkGrid::Make({kMax}, {std::uint64_t{1} << 63}, {lowest});
  ASSERT_TRUE(grid) << grid.error().message;
  EXPECT_EQ(grid->cell_count(), 2u);
  EXPECT_EQ(grid->Extent(Shape{1}, 0).begin, 0);
  EXPECT_EQ(grid->Extent(Shape{1}, 0).end, std::numeric_limits<std::int64_t>::max());
}

TEST(ChunkGridTest, RefusesMoreCellsThan64BitsCount) {
  EXPECT_FALSE(ChunkGrid::Make({kMax / 2, 4}, {1, 1}));
  EXPECT_TRUE(ChunkGrid::Make({kMax / 2, 2}, {1, 1}));
}

TEST(ChunkGridTest, SaturatesElementCountsThatDoNotFit) {
  const auto grid = ChunkGrid::Make({kMax / 2, 4}, {kMax / 2, 4});
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->ClippedElementCount(Shape{0, 0}), kMax);
}

TEST(LinearIndexTest, RunsTheLastDimensionFastest) {
  EXPECT_EQ(LinearIndex(Shape{2, 3, 4}, Shape{1, 2, 3}), 23u);
  EXPECT_EQ(LinearIndex(Shape{2, 3, 4}, Shape{0, 0, 1}), 1u);
  EXPECT_EQ(LinearIndex(Shape{2, 3, 4}, Shape{1, 0, 0}), 12u);
  EXPECT_EQ(LinearIndex({}, {}), 0u);
}

TEST(LinearIndexTest, IsUndoneByCellOfLinearIndex) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    Shape shape(1 + random() % 5);
    std::uint64_t count = 1;
    for (auto& extent : shape) count *= extent = 1 + random() % 900;
    const std::uint64_t index = random() % count;
    Shape cell(shape.size());
    CellOfLinearIndex(shape, index, cell);
    for (std::size_t d = 0; d < cell.size(); ++d) EXPECT_LT(cell[d], shape[d]);
    EXPECT_EQ(LinearIndex(shape, cell), index);
  }
}

}  // namespace
}  // namespace unshard
