#include "codec/zarr3/locator.h"

#include <utility>

namespace unshard {
namespace {

class ZarrChunkLocator final : public ChunkLocator {
 public:
  ZarrChunkLocator(const ChunkGrid& grid, const ChunkGrid& shard_grid,
                   std::vector<ShardLevel> levels)
      : grid_(grid),
        shards_(shard_grid.InUnitsOf(levels.back().chunk_shape)),
        is_regular_(shards_.is_regular()),
        levels_(std::move(levels)) {
    const Shape inner = levels_.back().chunk_shape;
    for (ShardLevel& level : levels_) {
      for (std::size_t axis = 0; axis < inner.size(); ++axis)
        level.chunk_shape[axis] /= inner[axis];
    }
  }

  [[nodiscard]] ShardSlot Locate(std::span<const std::uint64_t> cell) const override {
    ShardSlot slot;
    GridCell shard(cell.size()), rest(cell.size());
    for (std::size_t axis = 0; axis < cell.size(); ++axis) {
      shard[axis] = shards_.axis(axis).CellAt(cell[axis]);
      rest[axis] = cell[axis] - shards_.axis(axis).Begin(shard[axis]);
    }
    slot.shard = LinearIndex(shards_.grid_shape(), shard);
    for (std::size_t depth = 0; depth < levels_.size(); ++depth) {
      const ShardLevel& level = levels_[depth];
      const std::uint64_t position = IsOfOneShape(depth)
                                         ? Descend(level, level.grid_shape, rest)
                                         : Descend(level, GridShapeAt(level, shards_, shard), rest);
      if (depth + 1 == levels_.size()) {
        slot.slot = position;
      } else {
        slot.page = slot.page * level.chunk_count + position;
      }
    }
    return slot;
  }

  [[nodiscard]] bool CellAt(const ShardSlot& slot, std::span<std::uint64_t> cell) const override {
    if (slot.shard >= shards_.cell_count()) return false;
    CellOfLinearIndex(shards_.grid_shape(), slot.shard, cell);
    const GridCell shard(cell.begin(), cell.end());
    for (std::size_t axis = 0; axis < cell.size(); ++axis) {
      cell[axis] = shards_.axis(axis).Begin(shard[axis]);
    }
    std::uint64_t position = slot.slot, page = slot.page;
    for (std::size_t depth = levels_.size(); depth-- > 0;) {
      const ShardLevel& level = levels_[depth];
      const std::uint64_t rest =
          IsOfOneShape(depth) ? Ascend(level, level.grid_shape, position, cell)
                              : Ascend(level, GridShapeAt(level, shards_, shard), position, cell);
      if (rest != 0) return false;
      if (depth == 0) break;
      position = depth == 1 ? page : page % levels_[depth - 1].chunk_count;
      page /= levels_[depth - 1].chunk_count;
    }
    return (levels_.size() > 1 || slot.page == 0) && grid_.Contains(cell);
  }

 private:
  // Whether all shards have the level's grid_shape. Only that of the outermost may differ.
  [[nodiscard]] bool IsOfOneShape(std::size_t depth) const { return depth > 0 || is_regular_; }

  // The position, in the index of `level`, of the part that contains the cell `rest`; `rest`
  // becomes relative to that part.
  static std::uint64_t Descend(const ShardLevel& level, std::span<const std::uint64_t> grid_shape,
                               GridCell& rest) {
    std::uint64_t position = 0;
    for (std::size_t d = 0; d < level.axes.size(); ++d) {
      const std::size_t axis = level.axes[d];
      position = position * grid_shape[d] + rest[axis] / level.chunk_shape[axis];
      rest[axis] %= level.chunk_shape[axis];
    }
    return position;
  }

  // Moves `cell` by the position. Returns by how many indexes that lies beyond the first: 0 for the
  // positions that exist.
  static std::uint64_t Ascend(const ShardLevel& level, std::span<const std::uint64_t> grid_shape,
                              std::uint64_t position, std::span<std::uint64_t> cell) {
    for (std::size_t d = level.axes.size(); d-- > 0;) {
      const std::size_t axis = level.axes[d];
      cell[axis] += position % grid_shape[d] * level.chunk_shape[axis];
      position /= grid_shape[d];
    }
    return position;
  }

  const ChunkGrid grid_;
  const ChunkGrid shards_;  // counted in innermost chunks
  const bool is_regular_;
  std::vector<ShardLevel> levels_;  // their chunk shapes count innermost chunks
};

}  // namespace

std::shared_ptr<const ChunkLocator> MakeZarrChunkLocator(const ChunkGrid& grid,
                                                         const ChunkGrid& shard_grid,
                                                         std::vector<ShardLevel> levels) {
  return std::make_shared<ZarrChunkLocator>(grid, shard_grid, std::move(levels));
}

}  // namespace unshard
