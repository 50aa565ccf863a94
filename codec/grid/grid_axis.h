// One axis of a chunk grid: cells that follow each other from position 0, of one extent or of
// several.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/core/error.h"

namespace unshard {

// `count` cells of the same extent, one after the other.
struct CellRun {
  std::uint64_t cell_extent = 1;
  std::uint64_t count = 1;
  friend bool operator==(const CellRun&, const CellRun&) = default;
};

// Immutable; thread-safe. Positions are relative to the begin of the array.
class GridAxis {
 public:
  // The cells of `runs` that begin below `extent`. Fails with kDataLoss where a run has a cell
  // extent or a count of 0, no run is given, or the cells do not cover the extent, or end above
  // 2^63.
  static Result<GridAxis> Make(std::uint64_t extent, std::span<const CellRun> runs);
  // Cells of one extent. Fails with kDataLoss where that is 0.
  static Result<GridAxis> Regular(std::uint64_t extent, std::uint64_t cell_extent);

  [[nodiscard]] std::uint64_t extent() const { return extent_; }
  // The number of cells; 0 where the extent is 0.
  [[nodiscard]] std::uint64_t cells() const { return cells_; }
  // Whether all cells have the same extent, the clipped end apart; also those that runs have beyond
  // the end, as in all that follows.
  [[nodiscard]] bool is_regular() const { return runs_.empty(); }
  [[nodiscard]] std::uint64_t max_cell_extent() const { return max_cell_extent_; }

  // The cell that contains a position. Requires: position < extent().
  [[nodiscard]] std::uint64_t CellAt(std::uint64_t position) const;
  // The first position of a cell. Requires: cell < cells(), as below.
  [[nodiscard]] std::uint64_t Begin(std::uint64_t cell) const;
  // The end of a cell, at most extent().
  [[nodiscard]] std::uint64_t End(std::uint64_t cell) const;
  // The extent of a cell, which may reach beyond the end of the axis.
  [[nodiscard]] std::uint64_t CellExtent(std::uint64_t cell) const;

  // The first cell extent that is no multiple of `unit`; nothing where all are. Requires: unit > 0.
  [[nodiscard]] std::optional<std::uint64_t> CellExtentNotDividedBy(std::uint64_t unit) const;
  // Whether each cell of a regular axis with this cell extent is a union of cells of this axis.
  [[nodiscard]] bool DividesRegular(std::uint64_t cell_extent) const;
  // The least cell extent for which that is so, and for which MostCellsIn is at most `most`;
  // nothing where there is none. Of a regular axis: its cell extent.
  [[nodiscard]] std::optional<std::uint64_t> RegularUnion(std::uint64_t most) const;
  // No union of cells with this extent has more of them.
  [[nodiscard]] std::uint64_t MostCellsIn(std::uint64_t extent) const;
  // The same cells, counted in parts of `unit` positions. Requires: `unit` divides all extents.
  [[nodiscard]] GridAxis InUnitsOf(std::uint64_t unit) const;

  // The cells up to that which contains the end. Requires: cells() > 0.
  [[nodiscard]] std::vector<CellRun> Runs() const;

  // Whether both have the same cells, also in how far they reach beyond the end.
  friend bool operator==(const GridAxis&, const GridAxis&) = default;

 private:
  struct Run {
    std::uint64_t first_cell, begin, cell_extent;
    friend bool operator==(const Run&, const Run&) = default;
  };
  // The last run that begins at or before `cell`, or `position`.
  [[nodiscard]] const Run& RunOfCell(std::uint64_t cell) const;
  [[nodiscard]] const Run& RunAt(std::uint64_t position) const;

  // Ascending; neighbours differ in extent. Empty where all cells have max_cell_extent_, so that
  // the axes of most grids take no memory of their own.
  std::vector<Run> runs_;
  std::uint64_t extent_ = 0, cells_ = 0, max_cell_extent_ = 1;
};

}  // namespace unshard
