// Flat trees of the precomputed format: volumes, annotations, skeletons, meshes.
#include <algorithm>
#include <bit>

#include "codec/grid/chunk_key.h"
#include "codec/precomputed/shard.h"
#include "codec/zarr3/layout_digest.h"
#include "fs/tree/flat_tree.h"
#include "fs/tree/node_id.h"

namespace unshard {
namespace {

using Names = ShardedDirectory::Names;

// How many bits the ids of a grid have. Each bit of an index becomes one bit of a Morton code; the
// highest of each dimension are looked at, whichever rule made the codes.
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
                  const ShardedDirectory& directory, std::shared_ptr<const ChunkLocator> locator,
                  std::shared_ptr<ObjectStore> store)
      : FlatTree(ordinal, std::move(shards), std::move(store)),
        description_(directory),
        layout_digest_(LayoutDigest(directory.layout)),
        locator_(std::move(locator)),
        order_(directory.sharding, BitsOfIds(locator_.get(), directory.grid_shape), kPositionBits) {
  }

  std::uint32_t layout_digest() const override { return layout_digest_; }
  Match Resolve(const GridDirectory&, std::string_view name) const override {
    if (const auto match = ResolveChunk(name, ChunkPart::kPlain);
        match.kind != Match::Kind::kOther) {
      if (match.kind == Match::Kind::kChunk || !has_stored_names()) return match;
    }
    // The stored bytes are a gzip member: "<name>.gz" shows them to servers that serve such files.
    const bool suffixed = name.size() > 3 && name.substr(name.size() - 3) == ".gz";
    if (has_stored_names() && suffixed) {
      const auto match = ResolveChunk(name.substr(0, name.size() - 3), ChunkPart::kStored);
      if (match.kind == Match::Kind::kChunk) return match;
    }
    return ResolveChunk(name, ChunkPart::kPlain);
  }

  std::string Path(const ChunkRef& chunk) const override {
    return ChunkName(chunk) + (chunk.part == ChunkPart::kStored ? ".gz" : "");
  }

  std::optional<std::uint64_t> Position(const ChunkRef& chunk) const override {
    if (!locator_ || chunk.part != ChunkPart::kPlain) return std::nullopt;
    return order_.NumberOf(chunk.slot.slot);
  }
  Match AtPosition(std::uint64_t position) const override {
    return {Match::Kind::kChunk, {}, {SlotOf(order_.IdAt(position)), ChunkPart::kPlain}};
  }

  std::uint64_t PlainSize(const ShardSlot& slot) const override {
    if (description_.bytes_per_voxel == 0) return 0;
    GridCell cell(description_.grid.rank());
    if (!locator_->CellAt(slot, cell)) return 0;
    return description_.grid.ClippedElementCount(cell) * description_.bytes_per_voxel;
  }
  std::uint64_t ShardIndexBytes() const override {
    const unsigned bits = description_.sharding.minishard_bits;
    return bits < 60 ? std::uint64_t{16} << bits : ~std::uint64_t{0};
  }
  bool is_mesh() const override { return description_.names == Names::kMeshes; }

  std::uint64_t BytesToCheck(std::uint64_t size) const override {
    return description_.check->NeededBytes(size);
  }
  Status CheckChunk(const ChunkRef& chunk, std::uint64_t size, ByteSpan start) const override {
    return description_.check->Check(CellOf(chunk), size, start);
  }
  std::optional<std::uint64_t> FixedSize(const ChunkRef& chunk) const override {
    if (chunk.part == ChunkPart::kFragments) return std::nullopt;
    return description_.check->FixedSize(CellOf(chunk));
  }
  std::uint64_t ChunksInShard(std::uint64_t shard) const override;
  bool HoldsScratch() const override { return description_.names == Names::kChunkRanges; }
  bool TakesGzipNames() const override { return !is_mesh(); }

 protected:
  std::uint64_t Number(const ShardSlot& slot) const override { return slot.slot; }
  ShardSlot SlotOf(std::uint64_t number) const override {
    return LocateChunkId(description_.sharding, number);
  }
  bool IsNamed(const ShardSlot& slot) const override {
    if (!locator_) return true;
    GridCell cell(description_.grid_shape.size());
    return locator_->CellAt(slot, cell);
  }

 private:
  GridCell CellOf(const ChunkRef& chunk) const {
    if (!locator_) return {};
    GridCell cell(description_.grid_shape.size());
    locator_->CellAt(chunk.slot, cell);
    return cell;
  }

  bool has_stored_names() const {
    return description_.sharding.data_encoding == ShardEncoding::kGzip && !is_mesh();
  }

  Match ResolveChunk(std::string_view name, ChunkPart part) const {
    GridCell cell;
    std::uint64_t id = 0;
    MeshFile file = MeshFile::kManifest;
    NameMatch match = NameMatch::kOther;
    switch (description_.names) {
      case Names::kChunkRanges:
        match = ParseChunkRangeName(description_.grid, name, cell);
        break;
      case Names::kCellCoordinates:
        match = ParseCellCoordinatesName(description_.grid_shape, name, cell);
        break;
      case Names::kIds:
        match = ParseIdName(name, id);
        break;
      case Names::kMeshes:
        match = ParseMeshFileName(name, id, file);
        if (match == NameMatch::kChunk && file == MeshFile::kFragments) {
          part = ChunkPart::kFragments;
        }
        break;
    }
    if (match == NameMatch::kOther) return {};
    if (match == NameMatch::kNoChunk) return {Match::Kind::kNoChunk, {}, {}};
    const ShardSlot slot = locator_ ? locator_->Locate(cell) : SlotOf(id);
    return {Match::Kind::kChunk, {}, {slot, part}};
  }

  std::string ChunkName(const ChunkRef& chunk) const {
    GridCell cell(description_.grid_shape.size());
    if (locator_ && !locator_->CellAt(chunk.slot, cell)) return {};
    switch (description_.names) {
      case Names::kChunkRanges:
        return ChunkRangeName(description_.grid, cell);
      case Names::kCellCoordinates:
        return CellCoordinatesName(cell);
      case Names::kIds:
        return std::to_string(chunk.slot.slot);
      case Names::kMeshes:
        return MeshFileName(chunk.slot.slot, chunk.part == ChunkPart::kFragments
                                                 ? MeshFile::kFragments
                                                 : MeshFile::kManifest);
    }
    return {};
  }

  const ShardedDirectory description_;
  const std::uint32_t layout_digest_;
  const std::shared_ptr<const ChunkLocator> locator_;
  const StorageOrder order_;
};

// With the identity hash a shard holds runs of 2^preshift consecutive ids in each of its
// minishards: those ids that are cells of the grid are counted. Other hashes scatter ids over all
// shards.
std::uint64_t PrecomputedTree::ChunksInShard(std::uint64_t shard) const {
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
  // Ids beyond 2^(all bits) come back to the same shards.
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

std::unique_ptr<ChunkTree> MakePrecomputedTree(std::uint32_t ordinal,
                                               std::shared_ptr<ShardSet> shards,
                                               const ShardedDirectory& directory,
                                               std::shared_ptr<const ChunkLocator> locator,
                                               std::shared_ptr<ObjectStore> store) {
  return std::make_unique<PrecomputedTree>(ordinal, std::move(shards), directory,
                                           std::move(locator), std::move(store));
}

}  // namespace unshard
