#include "codec/grid/grid_axis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

namespace unshard {
namespace {

GridAxis Axis(std::uint64_t extent, const std::vector<CellRun>& runs) {
  auto axis = GridAxis::Make(extent, runs);
  EXPECT_TRUE(axis) << axis.error().message;
  return *std::move(axis);
}

// Cell by cell, without runs.
struct Expected {
  std::vector<std::uint64_t> begins, extents;

  explicit Expected(const std::vector<CellRun>& runs) {
    std::uint64_t begin = 0;
    for (const CellRun& run : runs) {
      for (std::uint64_t i = 0; i < run.count; ++i, begin += run.cell_extent) {
        begins.push_back(begin);
        extents.push_back(run.cell_extent);
      }
    }
  }
};

void ExpectEqual(const GridAxis& axis, const Expected& expected) {
  std::uint64_t cell = 0;
  for (std::uint64_t position = 0; position < axis.extent(); ++position) {
    while (position >= expected.begins[cell] + expected.extents[cell]) ++cell;
    EXPECT_EQ(axis.CellAt(position), cell) << position;
    EXPECT_EQ(axis.Begin(cell), expected.begins[cell]);
    EXPECT_EQ(axis.CellExtent(cell), expected.extents[cell]);
    EXPECT_EQ(axis.End(cell),
              std::min(axis.extent(), expected.begins[cell] + expected.extents[cell]));
  }
  EXPECT_EQ(axis.cells(), axis.extent() == 0 ? 0 : cell + 1);
}

TEST(GridAxisTest, FindsTheCellsOfRandomRuns) {
  std::mt19937 random(7);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  for (int round = 0; round < 300; ++round) {
    std::vector<CellRun> runs(1 + below(5));
    std::uint64_t sum = 0;
    for (CellRun& run : runs) {
      run = {1 + below(4), 1 + below(4)};
      sum += run.cell_extent * run.count;
    }
    ExpectEqual(Axis(below(sum + 1), runs), Expected(runs));
  }
}

bool IsUnion(const Expected& cells, const GridAxis& axis, std::uint64_t extent) {
  for (std::uint64_t at = 0; at < axis.extent(); at += extent) {
    if (std::find(cells.begins.begin(), cells.begins.end(), at) == cells.begins.end()) return false;
  }
  return true;
}

TEST(GridAxisTest, FindsRegularUnionsOfRandomRuns) {
  std::mt19937 random(8);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  int unions = 0;
  for (int round = 0; round < 1000; ++round) {
    std::vector<CellRun> runs(1 + below(4));
    std::uint64_t sum = 0;
    for (CellRun& run : runs) {
      run = {1 + below(4), 1 + below(5)};
      sum += run.cell_extent * run.count;
    }
    const GridAxis axis = Axis(1 + below(sum), runs);
    const Expected cells(runs);
    std::optional<std::uint64_t> least;
    for (std::uint64_t extent = 1; extent <= sum + 1; ++extent) {
      EXPECT_EQ(axis.DividesRegular(extent), IsUnion(cells, axis, extent)) << extent;
      if (!least && IsUnion(cells, axis, extent)) least = extent;
    }
    if (axis.cells() > 1) {
      EXPECT_EQ(axis.RegularUnion(1000), least);
    }
    const std::uint64_t most = 1 + below(4);
    const auto small = axis.RegularUnion(most);
    if (!small) continue;
    EXPECT_LE(axis.MostCellsIn(*small), most);
    unions += axis.is_regular() ? 0 : 1;
    for (std::uint64_t at = 0; at < axis.extent(); at += *small) {
      const std::uint64_t last = std::min(at + *small, axis.extent()) - 1;
      EXPECT_LE(axis.CellAt(last) - axis.CellAt(at) + 1, axis.MostCellsIn(*small));
    }
  }
  EXPECT_GT(unions, 50);
}

TEST(GridAxisTest, TellsItsRuns) {
  const auto runs = Axis(17, {{4, 2}, {2, 1}, {8, 3}}).Runs();
  EXPECT_EQ(runs, (std::vector<CellRun>{{4, 2}, {2, 1}, {8, 1}}));
  EXPECT_EQ(Axis(10, {{4, 2}, {3, 9}}).Runs(), (std::vector<CellRun>{{4, 2}, {3, 1}}));
  EXPECT_EQ(Axis(9, {{4, 5}}).Runs(), (std::vector<CellRun>{{4, 3}}));
}

TEST(GridAxisTest, SearchesLongRunsAtOnce) {
  const std::uint64_t many = std::uint64_t{1} << 50;
  const GridAxis axis = Axis(many + 3, {{1, many}, {3, 1}});
  EXPECT_TRUE(axis.DividesRegular(many));
  EXPECT_FALSE(axis.DividesRegular(6));
  EXPECT_EQ(axis.RegularUnion(1024), 4);
}

TEST(GridAxisTest, CountsInUnits) {
  const GridAxis axis = Axis(17, {{4, 2}, {2, 1}, {8, 3}}).InUnitsOf(2);
  EXPECT_EQ(axis.extent(), 9u);
  ExpectEqual(axis, Expected({{2, 2}, {1, 1}, {4, 3}}));
}

TEST(GridAxisTest, FindsAnExtentThatAUnitDoesNotDivide) {
  const GridAxis axis = Axis(5, {{4, 2}, {6, 1}});
  EXPECT_EQ(axis.CellExtentNotDividedBy(2), std::nullopt);
  EXPECT_EQ(axis.CellExtentNotDividedBy(4), 6u) << "of a cell beyond the end, too";
}

TEST(GridAxisTest, IsRegularWhereAllCellsHaveOneExtent) {
  EXPECT_TRUE(GridAxis::Regular(100, 7)->is_regular());
  EXPECT_TRUE(Axis(9, {{3, 1}, {3, 5}}).is_regular());
  EXPECT_FALSE(Axis(9, {{3, 2}, {4, 1}}).is_regular());
  EXPECT_EQ(GridAxis::Regular(~std::uint64_t{0}, 1)->cells(), ~std::uint64_t{0});
}

TEST(GridAxisTest, RefusesCellsThatAreNoAxis) {
  EXPECT_FALSE(GridAxis::Regular(1, 0));
  EXPECT_FALSE(GridAxis::Make(0, {}));
  for (const std::vector<CellRun>& runs : {std::vector<CellRun>{{0, 1}},
                                           {{1, 0}},
                                           {{3, 3}},
                                           {{std::uint64_t{1} << 62, 2}},
                                           {{std::uint64_t{1} << 40, std::uint64_t{1} << 40}}}) {
    EXPECT_EQ(GridAxis::Make(10, runs).error().code, ErrorCode::kDataLoss);
  }
}

// A list is as long as its runs, not as its cells.
TEST(GridAxisTest, KeepsLongRuns) {
  const std::uint64_t many = std::uint64_t{1} << 60;
  const GridAxis axis = Axis(2 * many + 2, {{2, many}, {1, 5}});
  EXPECT_EQ(axis.CellAt(2 * many + 1), many + 1);
  EXPECT_EQ(axis.cells(), many + 2);
}

}  // namespace
}  // namespace unshard
