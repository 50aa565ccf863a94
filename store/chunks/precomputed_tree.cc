#include "store/chunks/precomputed_tree.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <unordered_map>

#include "codec/precomputed/chunk_names.h"
#include "codec/precomputed/shard.h"
#include "codec/zarr3/layout_digest.h"
#include "store/chunks/flat_tree.h"
#include "store/object/call_failed.h"

namespace unshard {
namespace {

using Names = ShardedDirectory::Names;

// The limit of shards whose numbers of chunks are remembered.
constexpr std::size_t kMostCounts = 4096;

// How many bits the ids of a grid have. Each bit of an index becomes one bit of a Morton code: the
// highest bits of all dimensions are compared, whichever rule made the codes.
unsigned BitsOfIds(const ChunkLocator* locator, const std::vector<std::uint64_t>& grid_shape) {
  unsigned bits = 0;
  for (std::size_t d = 0; locator != nullptr && d < grid_shape.size(); ++d) {
    if (grid_shape[d] < 2) continue;
    GridCell cell(grid_shape.size());
    cell[d] = std::bit_floor(grid_shape[d] - 1);
    bits = std::max(bits, static_cast<unsigned>(std::bit_width(locator->Locate(cell).slot)));
  }
  return bits;
}

class PrecomputedTree final : public FlatTree {
 public:
  PrecomputedTree(std::uint32_t ordinal, std::shared_ptr<ShardSet> shards,
                  std::shared_ptr<ChunkReader> reader, const ShardedDirectory& directory,
                  std::shared_ptr<const ChunkLocator> locator, std::shared_ptr<ObjectStore> store,
                  const ChunkLocator* with_most_bits)
      : FlatTree(ordinal, std::move(shards), std::move(reader), std::move(store)),
        description_(directory),
        names_(MakePrecomputedNames(directory)),
        layout_digest_(LayoutDigest(directory.layout)),
        locator_(std::move(locator)),
        id_bits_(BitsOfIds(with_most_bits != nullptr ? with_most_bits : locator_.get(),
                           directory.grid_shape)),
        order_(directory.sharding, id_bits_, kPositionBits) {}

  std::uint32_t layout_digest() const override { return layout_digest_; }
  const ChunkNames& names() const override { return *names_; }
  ShardSlot Locate(const ChunkFile& chunk) const override {
    return locator_ ? locator_->Locate(chunk.cell) : SlotOf(chunk.id);
  }
  std::optional<ChunkFile> ChunkAt(const ShardSlot& slot) const override {
    if (!locator_) return ChunkFile{{}, slot.slot};
    ChunkFile chunk{GridCell(description_.grid_shape.size())};
    if (!locator_->CellAt(slot, chunk.cell)) return std::nullopt;
    return chunk;
  }

  using FlatTree::Position;
  std::optional<std::uint64_t> Position(const ChunkRef& chunk) const override {
    if (!locator_ || chunk.part != ChunkPart::kPlain) return std::nullopt;
    return order_.NumberOf(chunk.slot.slot);
  }
  Match AtPosition(std::uint64_t position) const override {
    return {Match::Kind::kChunk, {}, {SlotOf(order_.IdAt(position)), ChunkPart::kPlain}};
  }

  std::uint64_t PlainSize(const ShardSlot& slot) const override {
    if (description_.bytes_per_voxel == 0) return 0;
    const auto chunk = ChunkAt(slot);
    if (!chunk) return 0;
    return description_.grid.ClippedElementCount(chunk->cell) * description_.bytes_per_voxel;
  }
  std::uint64_t ShardIndexBytes() const override {
    const unsigned bits = description_.sharding.minishard_bits;
    return bits < 60 ? std::uint64_t{16} << bits : ~std::uint64_t{0};
  }

  std::uint64_t ShardEnd() const override;
  std::optional<std::uint64_t> PositionEnd() const override {
    return description_.sharding.hash == ChunkIdHash::kIdentity ? NumberEnd() : std::nullopt;
  }

  // Called for each chunk that is committed; counts once for each shard.
  std::uint64_t ChunksInShard(std::uint64_t shard) const override {
    {
      const std::lock_guard lock(counts_mutex_);
      const auto known = counts_.find(shard);
      if (known != counts_.end()) return known->second;
    }
    std::uint64_t count = 0;
    try {
      count = CountChunks(shard);
    } catch (const CallFailed&) {
      return 0;  // which ids are cells cannot be found out now: counted at the next call
    }
    const std::lock_guard lock(counts_mutex_);
    if (counts_.size() >= kMostCounts) counts_.clear();
    counts_.emplace(shard, count);
    return count;
  }
  std::optional<CellBox> BoxOf(std::uint64_t shard) const override;
  bool HoldsScratch() const override { return description_.names == Names::kChunkRanges; }
  bool TakesGzipNames() const override { return !is_mesh(); }

 protected:
  std::uint64_t Number(const ShardSlot& slot) const override { return slot.slot; }
  ShardSlot SlotOf(std::uint64_t number) const override {
    return LocateChunkId(description_.sharding, number);
  }
  const ChunkCheck& check() const override { return *description_.check; }
  std::optional<std::uint64_t> NumberEnd() const override {
    if (!locator_ || id_bits_ > 62) return std::nullopt;
    return std::uint64_t{1} << id_bits_;
  }

 private:
  [[nodiscard]] std::uint64_t CountChunks(std::uint64_t shard) const;

  const ShardedDirectory description_;
  const std::unique_ptr<const ChunkNames> names_;
  const std::uint32_t layout_digest_;
  const std::shared_ptr<const ChunkLocator> locator_;
  const unsigned id_bits_;
  const StorageOrder order_;
  mutable std::mutex counts_mutex_;
  mutable std::unordered_map<std::uint64_t, std::uint64_t> counts_;  // guarded by counts_mutex_
};

// With the identity hash the largest id is in the last shard, unless ids wrap around.
std::uint64_t PrecomputedTree::ShardEnd() const {
  const ShardingSpec& spec = description_.sharding;
  const std::uint64_t all = spec.shard_bits < 64 ? std::uint64_t{1} << spec.shard_bits : ~0ULL;
  const auto ids = NumberEnd();
  const unsigned bits = spec.preshift_bits + spec.minishard_bits;
  if (!ids || spec.hash != ChunkIdHash::kIdentity) return all;
  return std::min(all, bits < 64 ? ((*ids - 1) >> bits) + 1 : 1);
}

// With the identity hash a shard holds the ids with one beginning. Each of their other bits is a
// low bit of one index.
std::optional<CellBox> PrecomputedTree::BoxOf(std::uint64_t shard) const {
  const ShardingSpec& spec = description_.sharding;
  const unsigned bits = spec.preshift_bits + spec.minishard_bits;
  // Ids beyond 2^(all bits) wrap around to the same shards.
  const bool wraps = bits + spec.shard_bits < id_bits_;
  if (!locator_ || spec.hash != ChunkIdHash::kIdentity || wraps) return std::nullopt;
  const std::vector<std::uint64_t>& shape = description_.grid_shape;
  CellBox box{GridCell(shape.size()), GridCell(shape.size())};
  if (bits >= 63) return CellBox{box.begin, shape};
  if (!locator_->CellAt(SlotOf(shard << bits), box.begin)) return CellBox{box.end, box.end};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    GridCell cell(shape.size());
    std::uint64_t size = 1;
    for (; size < shape[d]; size *= 2) {
      cell[d] = size;
      if (locator_->Locate(cell).slot >> bits != 0) break;
    }
    box.end[d] = std::min(shape[d], box.begin[d] + size);
  }
  return box;
}

// With the identity hash a shard holds runs of 2^preshift consecutive ids in each of its
// minishards: those ids that are cells of the grid are counted. Other hashes scatter ids over all
// shards.
std::uint64_t PrecomputedTree::CountChunks(std::uint64_t shard) const {
  constexpr unsigned kMostBits = 20;
  const ShardingSpec& spec = description_.sharding;
  const unsigned bits = spec.preshift_bits + spec.minishard_bits;
  const bool known = locator_ && spec.hash == ChunkIdHash::kIdentity && bits <= kMostBits;
  if (!known || bits + spec.shard_bits > 63) return 0;
  std::uint64_t highest = 0;
  {
    GridCell last(description_.grid_shape.size());
    for (std::size_t d = 0; d < last.size(); ++d) {
      if (description_.grid_shape[d] == 0) return 0;
      last[d] = description_.grid_shape[d] - 1;
    }
    highest = locator_->Locate(last).slot;
  }
  // Ids beyond 2^(all bits) wrap around to the same shards.
  if (bits + spec.shard_bits < 64 && highest >> (bits + spec.shard_bits) != 0) return 0;
  const std::uint64_t first = shard << bits;
  std::uint64_t count = 0;
  GridCell cell(description_.grid_shape.size());
  for (std::uint64_t id = first; id < first + (std::uint64_t{1} << bits); ++id) {
    if (locator_->CellAt(SlotOf(id), cell)) ++count;
  }
  return count;
}

}  // namespace

std::unique_ptr<ShardedTree> MakePrecomputedTree(
    std::uint32_t ordinal, std::shared_ptr<ShardSet> shards, std::shared_ptr<ChunkReader> reader,
    const ShardedDirectory& directory, std::shared_ptr<const ChunkLocator> locator,
    std::shared_ptr<ObjectStore> store, std::shared_ptr<const ChunkLocator> with_most_bits) {
  return std::make_unique<PrecomputedTree>(ordinal, std::move(shards), std::move(reader), directory,
                                           std::move(locator), std::move(store),
                                           with_most_bits.get());
}

}  // namespace unshard
