#include "codec/precomputed/access.h"

#include <algorithm>
#include <utility>

namespace unshard {
namespace {

class MortonLocator final : public ChunkLocator {
 public:
  MortonLocator(const ShardingSpec& spec, CompressedMorton morton, bool empty_grid)
      : spec_(spec), morton_(std::move(morton)), empty_grid_(empty_grid) {}

  [[nodiscard]] ShardSlot Locate(std::span<const std::uint64_t> cell) const override {
    return LocateChunkId(spec_, morton_.Encode(cell));
  }
  [[nodiscard]] bool CellAt(const ShardSlot& slot, std::span<std::uint64_t> cell) const override {
    return !empty_grid_ && LocateChunkId(spec_, slot.slot) == slot &&
           morton_.Decode(slot.slot, cell);
  }

 private:
  const ShardingSpec spec_;
  const CompressedMorton morton_;
  const bool empty_grid_;
};

class NeuroglancerShardKeys final : public ShardKeys {
 public:
  explicit NeuroglancerShardKeys(const ShardingSpec& spec) : spec_(spec) {}

  [[nodiscard]] std::string Key(std::uint64_t shard) const override {
    return ShardFileName(spec_, shard);
  }
  [[nodiscard]] std::optional<std::uint64_t> Parse(std::string_view key) const override {
    const auto shard = ParseShardFileName(spec_, key);
    return shard ? shard : ParseObsoleteShardFileName(spec_, key);
  }
  [[nodiscard]] std::optional<Pair> ObsoletePair(std::uint64_t shard) const override {
    return ObsoleteShardFileNames(spec_, shard);
  }

 private:
  const ShardingSpec spec_;
};

bool HasCells(ShardedDirectory::Names names) {
  return names == ShardedDirectory::Names::kChunkRanges ||
         names == ShardedDirectory::Names::kCellCoordinates;
}

}  // namespace

Result<ShardedDirectoryAccess> MakeAccess(const ShardedDirectory& directory, MortonRule rule) {
  ShardedDirectoryAccess access;
  access.format = MakeNeuroglancerShardFormat(directory.sharding);
  access.keys = std::make_shared<NeuroglancerShardKeys>(directory.sharding);
  if (!HasCells(directory.names)) return access;
  std::vector<std::uint64_t> grid_shape = directory.grid_shape;
  const bool empty_grid = std::find(grid_shape.begin(), grid_shape.end(), 0u) != grid_shape.end();
  // An empty grid has no cell to encode, so that its code does not matter.
  if (empty_grid) std::fill(grid_shape.begin(), grid_shape.end(), 1u);
  auto morton = CompressedMorton::Make(grid_shape, rule);
  if (!morton) return Forward(std::move(morton).error(), directory.json_path);
  access.locator =
      std::make_shared<MortonLocator>(directory.sharding, *std::move(morton), empty_grid);
  return access;
}

}  // namespace unshard
