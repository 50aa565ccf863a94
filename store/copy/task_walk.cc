#include "store/copy/task_walk.h"

#include <algorithm>
#include <map>

#include "codec/pyramid/chunk_files.h"

namespace unshard {
namespace {

// Slots that are held at a time where ids are scattered.
constexpr std::uint64_t kMostScattered = std::uint64_t{1} << 20;
// Chunks of a box.
constexpr std::uint64_t kMostInBox = std::uint64_t{1} << 14;
// Along an axis, where the source does not say better.
constexpr std::uint64_t kChunksInBox = 8;

// The chunks of a shard have neighbouring positions.
class ShardsByPosition final : public TaskWalk {
 public:
  ShardsByPosition(std::shared_ptr<ShardedTree> tree, std::uint64_t end)
      : tree_(std::move(tree)), end_(end) {}

  std::optional<CopyTask> Next() override {
    CopyTask task;
    for (; at_ < end_; ++at_) {
      const ChunkRef chunk = tree_->AtPosition(at_).chunk;
      if (!tree_->FileOf(chunk)) continue;
      if (task.slots.empty()) task.shard = chunk.slot.shard;
      if (task.shard != chunk.slot.shard) break;
      task.slots.push_back(chunk.slot);
    }
    task.cells = task.slots.size();
    if (task.slots.empty()) return std::nullopt;
    return task;
  }

 private:
  const std::shared_ptr<ShardedTree> tree_;
  const std::uint64_t end_;
  std::uint64_t at_ = 0;
};

// Goes over all cells once for each group of shards whose chunks can be held at a time.
class ScatteredShards final : public TaskWalk {
 public:
  ScatteredShards(const StoredArray& to, const ChunkGrid& grid)
      : tree_(to.tree), dialect_(to.array.dialect), grid_(grid), shards_(tree_->ShardEnd()) {
    const std::uint64_t groups = grid_.cell_count() / kMostScattered + 1;
    group_size_ = std::max<std::uint64_t>(shards_ / groups, 1);
  }

  std::optional<CopyTask> Next() override {
    while (held_.empty()) {
      if (begin_ >= shards_) return std::nullopt;
      Collect();
    }
    CopyTask task;
    task.shard = held_.begin()->first;
    task.slots = std::move(held_.begin()->second);
    task.cells = task.slots.size();
    held_.erase(held_.begin());
    std::sort(task.slots.begin(), task.slots.end(), [](const auto& a, const auto& b) {
      return a.page != b.page ? a.page < b.page : a.slot < b.slot;
    });
    return task;
  }

 private:
  void Collect() {
    const std::uint64_t end = begin_ + std::min(group_size_, shards_ - begin_);
    GridCell cell(grid_.rank());
    for (std::uint64_t i = 0; i < grid_.cell_count(); ++i) {
      CellOfLinearIndex(grid_.grid_shape(), i, cell);
      const ShardSlot slot = tree_->Locate(ChunkFile{FileCellOf(dialect_, cell)});
      if (slot.shard >= begin_ && slot.shard < end) held_[slot.shard].push_back(slot);
    }
    begin_ = end;
  }

  const std::shared_ptr<ShardedTree> tree_;
  const Dialect dialect_;
  const ChunkGrid grid_;
  const std::uint64_t shards_;
  std::uint64_t group_size_ = 1;
  std::uint64_t begin_ = 0;                               // of the next group
  std::map<std::uint64_t, std::vector<ShardSlot>> held_;  // of the present one
};

class Boxes final : public TaskWalk {
 public:
  explicit Boxes(const ChunkMapping& mapping)
      : dialect_(mapping.to().dialect), grid_(mapping.to_grid()) {
    box_ = BoxShape(mapping);
    for (std::size_t axis = 0; axis < box_.size(); ++axis) {
      boxes_.push_back((grid_.grid_shape()[axis] + box_[axis] - 1) / box_[axis]);
      end_ *= boxes_.back();
      file_shape_.push_back(grid_.grid_shape()[axis]);
    }
    file_shape_ = FileCellOf(dialect_, file_shape_);
  }

  std::optional<CopyTask> Next() override {
    if (at_ == end_) return std::nullopt;
    GridCell box(box_.size());
    CellOfLinearIndex(boxes_, at_++, box);
    CopyTask task;
    std::vector<std::uint64_t> shape;
    std::uint64_t count = 1;
    for (std::size_t axis = 0; axis < box.size(); ++axis) {
      box[axis] *= box_[axis];
      shape.push_back(std::min(box_[axis], grid_.grid_shape()[axis] - box[axis]));
      count *= shape.back();
    }
    task.slots.reserve(count);
    GridCell cell(box.size());
    for (std::uint64_t i = 0; i < count; ++i) {
      CellOfLinearIndex(shape, i, cell);
      for (std::size_t axis = 0; axis < cell.size(); ++axis) cell[axis] += box[axis];
      task.slots.push_back({LinearIndex(file_shape_, FileCellOf(dialect_, cell)), 0, 0});
    }
    task.cells = count;
    return task;
  }

 private:
  const Dialect dialect_;
  const ChunkGrid grid_;
  std::vector<std::uint64_t> box_, boxes_;  // the shape of a box, the number of boxes
  GridCell file_shape_;                     // of the grid, as names list its axes
  std::uint64_t end_ = 1;
  std::uint64_t at_ = 0;
};

}  // namespace

std::vector<std::uint64_t> BoxShape(const ChunkMapping& mapping) {
  std::vector<std::uint64_t> box(mapping.to().rank(), 1);
  for (std::size_t axis = 0; axis < box.size(); ++axis) {
    // Of cells that differ, the largest.
    const std::uint64_t chunk = mapping.to_grid().chunk_shape()[axis];
    std::uint64_t extent = chunk * kChunksInBox;
    if (const auto source = mapping.axes()[axis]) {
      extent = mapping.from().shard_shape
                   ? (*mapping.from().shard_shape)[*source]
                   : mapping.from_grid().chunk_shape()[*source] * kChunksInBox;
    }
    box[axis] =
        std::clamp<std::uint64_t>((extent + chunk - 1) / chunk, 1,
                                  std::max<std::uint64_t>(mapping.to_grid().grid_shape()[axis], 1));
  }
  const auto count = [&] {
    std::uint64_t product = 1;
    for (const std::uint64_t extent : box) product *= extent;
    return product;
  };
  // The slowest axes first: what is left are rows that lie together in the source.
  for (std::size_t axis = 0; axis < box.size() && count() > kMostInBox; ++axis) {
    while (box[axis] > 1 && count() > kMostInBox) box[axis] = (box[axis] + 1) / 2;
  }
  return box;
}

std::unique_ptr<TaskWalk> WalkShards(const StoredArray& to, const ChunkGrid& grid) {
  if (const auto end = to.tree->PositionEnd()) {
    return std::make_unique<ShardsByPosition>(to.tree, *end);
  }
  return std::make_unique<ScatteredShards>(to, grid);
}

std::unique_ptr<TaskWalk> WalkBoxes(const ChunkMapping& mapping) {
  return std::make_unique<Boxes>(mapping);
}

}  // namespace unshard
