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

Status CheckDimension(std::size_t dimension, std::uint64_t extent, std::uint64_t chunk_extent,
                      std::int64_t origin) {
  const std::string where = "dimension " + std::to_string(dimension) + ": ";
  if (chunk_extent == 0) {
    return Fail(ErrorCode::kDataLoss, where, "expected a chunk extent of 1 or more, found 0");
  }
  if (!EndFits(origin, extent)) {
    return Fail(ErrorCode::kDataLoss, where, "expected an end below 2^63, found origin ", origin,
                " and extent ", extent);
  }
  return {};
}

}  // namespace

Result<ChunkGrid> ChunkGrid::Make(std::vector<std::uint64_t> shape,
                                  std::vector<std::uint64_t> chunk_shape,
                                  std::vector<std::int64_t> origin) {
  if (origin.empty()) origin.assign(shape.size(), 0);
  if (chunk_shape.size() != shape.size() || origin.size() != shape.size()) {
    return Fail(ErrorCode::kDataLoss, "expected a chunk shape and an origin of rank ", shape.size(),
                ", found ranks ", chunk_shape.size(), " and ", origin.size());
  }
  ChunkGrid grid;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    UNSHARD_RETURN_IF_ERROR(CheckDimension(d, shape[d], chunk_shape[d], origin[d]));
    grid.grid_shape_.push_back(shape[d] / chunk_shape[d] + (shape[d] % chunk_shape[d] != 0));
  }
  const bool empty = std::count(grid.grid_shape_.begin(), grid.grid_shape_.end(), 0u) > 0;
  const auto cell_count = CheckedProduct(grid.grid_shape_);
  if (!cell_count && !empty) {
    return Fail(ErrorCode::kDataLoss, "expected fewer than 2^64 chunks in the grid");
  }
  grid.cell_count_ = empty ? 0 : *cell_count;
  grid.shape_ = std::move(shape);
  grid.chunk_shape_ = std::move(chunk_shape);
  grid.origin_ = std::move(origin);
  return grid;
}

bool ChunkGrid::Contains(std::span<const std::uint64_t> cell) const {
  if (cell.size() != rank()) return false;
  for (std::size_t d = 0; d < cell.size(); ++d) {
    if (cell[d] >= grid_shape_[d]) return false;
  }
  return true;
}

CellExtent ChunkGrid::Extent(std::span<const std::uint64_t> cell, std::size_t dimension) const {
  const std::uint64_t begin = cell[dimension] * chunk_shape_[dimension];
  const std::uint64_t size = std::min(chunk_shape_[dimension], shape_[dimension] - begin);
  return {Advance(origin_[dimension], begin), Advance(origin_[dimension], begin + size)};
}

std::vector<std::uint64_t> ChunkGrid::ClippedShape(std::span<const std::uint64_t> cell) const {
  std::vector<std::uint64_t> shape(cell.size());
  for (std::size_t d = 0; d < cell.size(); ++d) {
    shape[d] = std::min(chunk_shape_[d], shape_[d] - cell[d] * chunk_shape_[d]);
  }
  return shape;
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
