#include "codec/zarr3/locator.h"

#include <utility>

namespace unshard {
namespace {

class ZarrChunkLocator final : public ChunkLocator {
 public:
  ZarrChunkLocator(const ChunkGrid& grid, const ChunkGrid& shard_grid,
                   std::vector<ShardLevel> levels)
      : grid_(grid), shard_grid_(shard_grid), levels_(std::move(levels)) {
    for (std::size_t axis = 0; axis < grid_.rank(); ++axis) {
      const std::uint64_t inner = levels_.back().chunk_shape[axis];
      cells_per_shard_.push_back(shard_grid_.chunk_shape()[axis] / inner);
      for (ShardLevel& level : levels_) level.chunk_shape[axis] /= inner;
    }
  }

  [[nodiscard]] ShardSlot Locate(std::span<const std::uint64_t> cell) const override {
    ShardSlot slot;
    std::vector<std::uint64_t> rest(cell.size());
    for (std::size_t axis = 0; axis < cell.size(); ++axis) {
      slot.shard =
          slot.shard * shard_grid_.grid_shape()[axis] + cell[axis] / cells_per_shard_[axis];
      rest[axis] = cell[axis] % cells_per_shard_[axis];
    }
    for (std::size_t depth = 0; depth < levels_.size(); ++depth) {
      const std::uint64_t position = Descend(levels_[depth], rest);
      if (depth + 1 == levels_.size()) {
        slot.slot = position;
      } else {
        slot.page = slot.page * levels_[depth].chunk_count + position;
      }
    }
    return slot;
  }

  [[nodiscard]] bool CellAt(const ShardSlot& slot, std::span<std::uint64_t> cell) const override {
    if (slot.shard >= shard_grid_.cell_count() || slot.slot >= levels_.back().chunk_count) {
      return false;
    }
    CellOfLinearIndex(shard_grid_.grid_shape(), slot.shard, cell);
    for (std::size_t axis = 0; axis < cell.size(); ++axis) cell[axis] *= cells_per_shard_[axis];
    Ascend(levels_.back(), slot.slot, cell);
    std::uint64_t page = slot.page;
    for (std::size_t depth = levels_.size() - 1; depth-- > 0;) {
      Ascend(levels_[depth], page % levels_[depth].chunk_count, cell);
      page /= levels_[depth].chunk_count;
    }
    return page == 0 && grid_.Contains(cell);
  }

 private:
  // The position, in the index of `level`, of the part that contains the cell `rest`; `rest`
  // becomes relative to that part.
  static std::uint64_t Descend(const ShardLevel& level, std::vector<std::uint64_t>& rest) {
    std::uint64_t position = 0;
    for (std::size_t d = 0; d < level.axes.size(); ++d) {
      const std::size_t axis = level.axes[d];
      position = position * level.grid_shape[d] + rest[axis] / level.chunk_shape[axis];
      rest[axis] %= level.chunk_shape[axis];
    }
    return position;
  }

  static void Ascend(const ShardLevel& level, std::uint64_t position,
                     std::span<std::uint64_t> cell) {
    for (std::size_t d = level.axes.size(); d-- > 0;) {
      const std::size_t axis = level.axes[d];
      cell[axis] += position % level.grid_shape[d] * level.chunk_shape[axis];
      position /= level.grid_shape[d];
    }
  }

  const ChunkGrid grid_;
  const ChunkGrid shard_grid_;
  std::vector<ShardLevel> levels_;  // their chunk shapes count innermost chunks
  std::vector<std::uint64_t> cells_per_shard_;
};

}  // namespace

std::shared_ptr<const ChunkLocator> MakeZarrChunkLocator(const ChunkGrid& grid,
                                                         const ChunkGrid& shard_grid,
                                                         std::vector<ShardLevel> levels) {
  return std::make_shared<ZarrChunkLocator>(grid, shard_grid, std::move(levels));
}

}  // namespace unshard
