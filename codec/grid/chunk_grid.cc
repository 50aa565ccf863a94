#include "codec/grid/chunk_grid.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "codec/core/byte_range.h"

namespace unshard {
namespace {

// The sum modulo 2^64: exact where it fits a signed integer.
std::int64_t Advance(std::int64_t from, std::uint64_t by) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(from) + by);
}

bool EndFits(std::int64_t origin, std::uint64_t extent) {
  const auto room = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) -
                    static_cast<std::uint64_t>(origin);
  return extent <= room;
}

std::string Where(std::size_t dimension) { return "dimension " + std::to_string(dimension); }

tl::unexpected<Error> RanksDiffer(std::size_t rank, std::size_t chunk_rank,
                                  std::size_t origin_rank) {
  return Fail(ErrorCode::kDataLoss, "expected a chunk shape and an origin of rank ", rank,
              ", found ranks ", chunk_rank, " and ", origin_rank);
}

}  // namespace

ChunkGrid::ChunkGrid(Parts parts) : parts_(std::make_shared<const Parts>(std::move(parts))) {}

ChunkGrid::ChunkGrid() {
  static const auto kNoAxes = std::make_shared<const Parts>();
  parts_ = kNoAxes;
}

Result<ChunkGrid> ChunkGrid::Make(std::vector<std::uint64_t> shape,
                                  std::vector<std::uint64_t> chunk_shape,
                                  std::vector<std::int64_t> origin) {
  if (chunk_shape.size() != shape.size()) {
    return RanksDiffer(shape.size(), chunk_shape.size(), origin.size());
  }
  std::vector<GridAxis> axes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    auto axis = GridAxis::Regular(shape[d], chunk_shape[d]);
    if (!axis) return Forward(std::move(axis).error(), Where(d));
    axes.push_back(*std::move(axis));
  }
  return OfAxes(std::move(axes), std::move(origin));
}

Result<ChunkGrid> ChunkGrid::OfAxes(std::vector<GridAxis> axes, std::vector<std::int64_t> origin) {
  if (origin.empty()) origin.assign(axes.size(), 0);
  if (origin.size() != axes.size()) return RanksDiffer(axes.size(), axes.size(), origin.size());
  Parts parts;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    if (!EndFits(origin[d], axes[d].extent())) {
      return Fail(ErrorCode::kDataLoss, Where(d), ": expected an end below 2^63, found origin ",
                  origin[d], " and extent ", axes[d].extent());
    }
    parts.shape.push_back(axes[d].extent());
    parts.chunk_shape.push_back(axes[d].max_cell_extent());
    parts.grid_shape.push_back(axes[d].cells());
  }
  const bool empty = std::count(parts.grid_shape.begin(), parts.grid_shape.end(), 0u) > 0;
  const auto cell_count = CheckedProduct(parts.grid_shape);
  if (!cell_count && !empty) {
    return Fail(ErrorCode::kDataLoss, "expected fewer than 2^64 chunks in the grid");
  }
  parts.cell_count = empty ? 0 : *cell_count;
  parts.axes = std::move(axes);
  parts.origin = std::move(origin);
  return ChunkGrid(std::move(parts));
}

bool ChunkGrid::is_regular() const {
  return std::all_of(parts_->axes.begin(), parts_->axes.end(),
                     [](const GridAxis& axis) { return axis.is_regular(); });
}

bool ChunkGrid::Contains(std::span<const std::uint64_t> cell) const {
  if (cell.size() != rank()) return false;
  for (std::size_t d = 0; d < cell.size(); ++d) {
    if (cell[d] >= parts_->grid_shape[d]) return false;
  }
  return true;
}

std::uint64_t ChunkGrid::CellAt(std::size_t dimension, std::int64_t position) const {
  return parts_->axes[dimension].CellAt(static_cast<std::uint64_t>(position) -
                                        static_cast<std::uint64_t>(parts_->origin[dimension]));
}

CellExtent ChunkGrid::Extent(std::span<const std::uint64_t> cell, std::size_t dimension) const {
  const GridAxis& axis = parts_->axes[dimension];
  return {Advance(parts_->origin[dimension], axis.Begin(cell[dimension])),
          Advance(parts_->origin[dimension], axis.End(cell[dimension]))};
}

std::vector<std::uint64_t> ChunkGrid::ClippedShape(std::span<const std::uint64_t> cell) const {
  std::vector<std::uint64_t> shape(cell.size());
  for (std::size_t d = 0; d < cell.size(); ++d) {
    shape[d] = parts_->axes[d].End(cell[d]) - parts_->axes[d].Begin(cell[d]);
  }
  return shape;
}

std::vector<std::uint64_t> ChunkGrid::WholeShape(std::span<const std::uint64_t> cell) const {
  std::vector<std::uint64_t> shape(cell.size());
  for (std::size_t d = 0; d < cell.size(); ++d) shape[d] = parts_->axes[d].CellExtent(cell[d]);
  return shape;
}

ChunkGrid ChunkGrid::InUnitsOf(std::span<const std::uint64_t> unit) const {
  std::vector<GridAxis> axes;
  for (std::size_t d = 0; d < rank(); ++d) axes.push_back(parts_->axes[d].InUnitsOf(unit[d]));
  return *OfAxes(std::move(axes));
}

std::uint64_t ChunkGrid::ClippedElementCount(std::span<const std::uint64_t> cell) const {
  std::uint64_t count = 1;
  for (const std::uint64_t size : ClippedShape(cell)) {
    count = CheckedMultiply(count, size).value_or(std::numeric_limits<std::uint64_t>::max());
  }
  return count;
}

std::uint64_t LinearIndex(std::span<const std::uint64_t> grid_shape,
                          std::span<const std::uint64_t> cell) {
  std::uint64_t index = 0;
  for (std::size_t d = 0; d < cell.size(); ++d) index = index * grid_shape[d] + cell[d];
  return index;
}

void CellOfLinearIndex(std::span<const std::uint64_t> grid_shape, std::uint64_t index,
                       std::span<std::uint64_t> cell) {
  for (std::size_t d = cell.size(); d-- > 0;) {
    cell[d] = index % grid_shape[d];
    index /= grid_shape[d];
  }
}

}  // namespace unshard
