// The chunk grid of an array: its grid cells, and the extent of each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codec/core/error.h"
#include "codec/grid/grid_axis.h"

namespace unshard {

// Coordinates of an inner chunk, one per dimension in the format's own axis order.
using GridCell = std::vector<std::uint64_t>;

// Half-open extent of a cell in one dimension, in array coordinates (origin included).
struct CellExtent {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The grid of one array. Immutable; thread-safe. Copies share their lists, and what was moved has
// none.
class ChunkGrid {
 public:
  ChunkGrid();  // rank 0: exactly one cell
  // Fails with kDataLoss where ranks differ, a chunk extent is 0, an end does not fit 63 bits, or
  // the number of cells does not fit 64 bits. `origin` may be empty: all zero.
  static Result<ChunkGrid> Make(std::vector<std::uint64_t> shape,
                                std::vector<std::uint64_t> chunk_shape,
                                std::vector<std::int64_t> origin = {});
  // The same of axes, whose cells may differ.
  static Result<ChunkGrid> OfAxes(std::vector<GridAxis> axes,
                                  std::vector<std::int64_t> origin = {});

  [[nodiscard]] std::size_t rank() const { return parts_->axes.size(); }
  [[nodiscard]] const std::vector<std::uint64_t>& shape() const { return parts_->shape; }
  // Of a regular grid: the shape of each chunk. Otherwise the largest extent along each axis.
  [[nodiscard]] const std::vector<std::uint64_t>& chunk_shape() const {
    return parts_->chunk_shape;
  }
  [[nodiscard]] const std::vector<std::int64_t>& origin() const { return parts_->origin; }
  // The number of cells along each axis; a dimension of extent 0 has no cells.
  [[nodiscard]] const std::vector<std::uint64_t>& grid_shape() const { return parts_->grid_shape; }
  [[nodiscard]] std::uint64_t cell_count() const { return parts_->cell_count; }
  // Whether all chunks have the same shape, clipped ends apart.
  [[nodiscard]] bool is_regular() const;
  // Its positions are without the origin.
  [[nodiscard]] const GridAxis& axis(std::size_t dimension) const {
    return parts_->axes[dimension];
  }

  [[nodiscard]] bool Contains(std::span<const std::uint64_t> cell) const;
  // The index, along a dimension, of the cells that contain `position`, in array coordinates.
  // Requires: a position within the array.
  [[nodiscard]] std::uint64_t CellAt(std::size_t dimension, std::int64_t position) const;
  // The extent of the cell, clipped at the upper edge of the array. Requires: Contains(cell).
  [[nodiscard]] CellExtent Extent(std::span<const std::uint64_t> cell, std::size_t dimension) const;
  // The sizes of the clipped extents. Requires: Contains(cell).
  [[nodiscard]] std::vector<std::uint64_t> ClippedShape(std::span<const std::uint64_t> cell) const;
  // The number of elements in the clipped extent, at most 2^64-1. Requires: Contains(cell).
  [[nodiscard]] std::uint64_t ClippedElementCount(std::span<const std::uint64_t> cell) const;
  // The shape of the cell, which may reach beyond the array. Requires: Contains(cell).
  [[nodiscard]] std::vector<std::uint64_t> WholeShape(std::span<const std::uint64_t> cell) const;

  // The same grid, from 0, counted in boxes of the shape `unit`. Requires: each cell extent is a
  // multiple of its unit.
  [[nodiscard]] ChunkGrid InUnitsOf(std::span<const std::uint64_t> unit) const;

 private:
  struct Parts {
    std::vector<GridAxis> axes;
    std::vector<std::uint64_t> shape, chunk_shape, grid_shape;
    std::vector<std::int64_t> origin;
    std::uint64_t cell_count = 1;
  };
  explicit ChunkGrid(Parts parts);

  std::shared_ptr<const Parts> parts_;  // never null
};

// The position of `cell` in the C order (last dimension fastest) of a grid, and its inverse.
// Requires: the cell lies within the grid; the cell count fits 64 bits.
std::uint64_t LinearIndex(std::span<const std::uint64_t> grid_shape,
                          std::span<const std::uint64_t> cell);
void CellOfLinearIndex(std::span<const std::uint64_t> grid_shape, std::uint64_t index,
                       std::span<std::uint64_t> cell);

}  // namespace unshard
