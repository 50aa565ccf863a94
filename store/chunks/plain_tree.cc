#include "store/chunks/plain_tree.h"

#include <utility>

#include "codec/grid/chunk_key.h"
#include "codec/pyramid/chunk_files.h"
#include "codec/shard/single_chunk.h"
#include "codec/zarr3/document.h"
#include "codec/zarr3/layout_digest.h"
#include "codec/zarr3/shard.h"
#include "store/chunks/flat_tree.h"
#include "store/chunks/zarr_tree.h"
#include "store/object/key.h"
#include "store/object/suffix_store.h"

namespace unshard {
namespace {

// "0-64_0-64_0-64", also of an object that is stored compressed.
class RangeKeys final : public ShardKeys {
 public:
  explicit RangeKeys(const ChunkGrid& grid) : grid_(grid) {}

  std::string Key(std::uint64_t shard) const override {
    GridCell cell(grid_.rank());
    CellOfLinearIndex(grid_.grid_shape(), shard, cell);
    return ChunkRangeName(grid_, cell);
  }
  std::optional<std::uint64_t> Parse(std::string_view key) const override {
    GridCell cell;
    const NameMatch match =
        ParseChunkRangeName(grid_, WithoutCompressionSuffix(key).value_or(key), cell);
    if (match != NameMatch::kChunk) return std::nullopt;
    return LinearIndex(grid_.grid_shape(), cell);
  }

 private:
  const ChunkGrid grid_;
};

// A scale of a precomputed volume. Its shards are numbered in C order, x slowest.
class RangesTree final : public FlatTree {
 public:
  RangesTree(std::uint32_t ordinal, std::shared_ptr<ShardSet> shards,
             std::shared_ptr<ChunkReader> reader, const Array& array, const ChunkGrid& grid,
             const std::shared_ptr<SuffixStore>& objects)
      : FlatTree(ordinal, std::move(shards), std::move(reader), objects),
        objects_(objects),
        layout_digest_(LayoutDigest(array.codec_json)),
        grid_(grid),
        names_(ChunkNamesOf(array, grid)),
        locator_(MakeSingleChunkLocator(grid)) {}

  std::uint32_t layout_digest() const override { return layout_digest_; }
  const ChunkNames& names() const override { return *names_; }
  ShardSlot Locate(const ChunkFile& chunk) const override { return locator_->Locate(chunk.cell); }
  std::optional<ChunkFile> ChunkAt(const ShardSlot& slot) const override {
    ChunkFile chunk{GridCell(grid_.rank())};
    if (!locator_->CellAt(slot, chunk.cell)) return std::nullopt;
    return chunk;
  }
  using FlatTree::Position;
  std::optional<std::uint64_t> Position(const ChunkRef& chunk) const override {
    return chunk.slot.shard;
  }
  Match AtPosition(std::uint64_t position) const override {
    return {Match::Kind::kChunk, {}, {SlotOf(position), ChunkPart::kPlain}};
  }
  std::optional<std::uint64_t> PositionEnd() const override { return grid_.cell_count(); }
  Result<std::optional<StoredForm>> OtherForm(std::uint64_t shard) const override {
    const std::string key = JoinPath(directory(), shards().keys().Key(shard));
    UNSHARD_ASSIGN_OR_RETURN(const auto suffix, objects_->SuffixOf(key, CallerDeadline()));
    if (suffix.empty()) return std::nullopt;
    return StoredForm{key + std::string(suffix), MakeCompressedChunkFormat(suffix)};
  }
  std::uint64_t ShardEnd() const override { return grid_.cell_count(); }
  std::uint64_t ChunksInShard(std::uint64_t) const override { return 1; }
  std::optional<CellBox> BoxOf(std::uint64_t shard) const override {
    CellBox box{GridCell(grid_.rank()), {}};
    CellOfLinearIndex(grid_.grid_shape(), shard, box.begin);
    box.end = box.begin;
    for (std::uint64_t& end : box.end) ++end;
    return box;
  }

 protected:
  std::uint64_t Number(const ShardSlot& slot) const override { return slot.shard; }
  ShardSlot SlotOf(std::uint64_t number) const override { return {number, 0, 0}; }
  std::optional<std::uint64_t> NumberEnd() const override { return grid_.cell_count(); }
  const ChunkCheck& check() const override { return *check_; }

 private:
  const std::shared_ptr<SuffixStore> objects_;
  const std::uint32_t layout_digest_;
  const ChunkGrid grid_;
  const std::unique_ptr<const ChunkNames> names_;
  const std::shared_ptr<const ChunkLocator> locator_;
  const std::shared_ptr<const ChunkCheck> check_ = MakeNotEmptyCheck();
};

}  // namespace

Result<std::shared_ptr<ShardedTree>> MakePlainTree(std::uint32_t ordinal, const Array& array,
                                                   const MakeShardSet& make_shards,
                                                   std::shared_ptr<ChunkReader> reader,
                                                   std::shared_ptr<ObjectStore> store,
                                                   std::uint64_t max_chunk_bytes) {
  UNSHARD_ASSIGN_OR_RETURN(const ChunkGrid grid, FileGridOf(array));
  const auto format = MakeSingleChunkFormat();
  if (array.dialect == Dialect::kPrecomputed) {
    const auto objects = std::make_shared<SuffixStore>(std::move(store), max_chunk_bytes);
    const auto shards = make_shards(objects, format, std::make_shared<RangeKeys>(grid));
    return std::make_shared<RangesTree>(ordinal, shards, std::move(reader), array, grid, objects);
  }
  // A tree of single chunks counts them, however large each is.
  const std::vector<std::uint64_t> one(grid.rank(), 1);
  UNSHARD_ASSIGN_OR_RETURN(const ChunkGrid chunks, ChunkGrid::Make(grid.grid_shape(), one));
  ZarrShardedArray plain;
  plain.grid = chunks;
  plain.shard_grid = chunks;
  plain.key_encoding = KeyEncodingOf(array);
  plain.format = format;
  plain.locator = MakeSingleChunkLocator(chunks);
  plain.keys = MakeZarrShardKeys(chunks, plain.key_encoding);
  plain.layout_digest = LayoutDigest(array.codec_json);
  const auto shards = make_shards(store, format, plain.keys);
  return std::shared_ptr<ShardedTree>(
      MakeZarrTree(ordinal, shards, std::move(reader), plain, std::move(store)));
}

}  // namespace unshard
