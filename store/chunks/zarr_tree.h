// Trees of Zarr v3 arrays.
#pragma once

#include <span>
#include <vector>

#include "codec/zarr3/chunk_names.h"
#include "codec/zarr3/document.h"
#include "store/chunks/flat_tree.h"

namespace unshard {

// Arithmetic positions of the chunks of an array, in storage order: shard by shard in C order, in
// each shard by page and slot. Immutable.
class ZarrPositions {
 public:
  ZarrPositions(const ZarrShardedArray& array);

  [[nodiscard]] std::uint64_t Of(const ShardSlot& slot) const {
    return slot.shard * chunks_per_shard_ + slot.page * slots_per_page_ + slot.slot;
  }
  [[nodiscard]] ShardSlot At(std::uint64_t position) const;
  // One more than the largest position.
  [[nodiscard]] std::uint64_t end() const { return end_; }

 private:
  std::uint64_t chunks_per_shard_ = 1;
  std::uint64_t slots_per_page_ = 1;
  std::uint64_t end_ = 0;
};

// Keys of one component ("0.0.1", "c.0.0.1") are all in one directory (depth 0); in "c/0/0/1" and
// "0/0/1" each index but the last is a directory.
class ZarrTree final : public FlatTree {
 public:
  ZarrTree(std::uint32_t ordinal, std::shared_ptr<ShardSet> shards,
           std::shared_ptr<ChunkReader> reader, const ZarrShardedArray& array,
           std::shared_ptr<ObjectStore> store);

  std::uint32_t layout_digest() const override { return array_.layout_digest; }
  const ChunkNames& names() const override { return names_; }
  ShardSlot Locate(const ChunkFile& chunk) const override {
    return array_.locator->Locate(chunk.cell);
  }
  std::optional<ChunkFile> ChunkAt(const ShardSlot& slot) const override {
    ChunkFile chunk{GridCell(array_.grid.rank())};
    if (!array_.locator->CellAt(slot, chunk.cell)) return std::nullopt;
    return chunk;
  }
  std::string StoreDirectory(const GridDirectory& in) const override;
  bool IsStoreDirectory(const GridDirectory& in) const override {
    return names_.IndexCount(in) == 0;
  }
  Status List(const GridDirectory& in, std::uint64_t cookie, ListMode mode,
              const ListVisitor& visitor, const DamageVisitor& damaged,
              const std::vector<GridDirectory>& others) override;
  // With nested keys a run of shards is a directory of the store.
  Result<bool> WalkShards(const ShardWalk& walk) override;
  std::optional<CellBox> BoxOf(std::uint64_t shard) const override;
  Result<std::optional<timespec>> Modified(const GridDirectory& in) override {
    return lister().Modified(StoreDirectory(in));
  }
  void ForEachDirectory(std::uint64_t shard,
                        const std::function<void(const GridDirectory&)>& visitor) const override;
  void ForEachDirectoryAt(std::string_view key,
                          const std::function<void(const GridDirectory&)>& visitor) const override;
  std::optional<std::uint64_t> Position(const ChunkRef& chunk) const override {
    return positions_.Of(chunk.slot);
  }
  std::optional<std::uint64_t> Position(const GridDirectory& in) const override;
  Match AtPosition(std::uint64_t position) const override;
  std::uint64_t ChunksInShard(std::uint64_t shard) const override;
  std::optional<std::uint64_t> PositionEnd() const override { return positions_.end(); }
  std::uint64_t ShardEnd() const override { return array_.shard_grid.cell_count(); }

 protected:
  std::uint64_t Number(const ShardSlot& slot) const override { return positions_.Of(slot); }
  std::optional<std::uint64_t> NumberEnd() const override { return positions_.end(); }
  ShardSlot SlotOf(std::uint64_t number) const override { return positions_.At(number); }
  const ChunkCheck& check() const override { return *array_.check; }

 private:
  [[nodiscard]] Match Child(const GridDirectory& in, std::uint64_t index) const;
  // Calls `visitor` for the directories that have as many indices as `shard_indices` and lie in the
  // shards whose indices begin with those.
  void ForEachDirectoryIn(std::span<const std::uint64_t> shard_indices,
                          const std::function<void(const GridDirectory&)>& visitor) const;
  [[nodiscard]] std::vector<std::uint64_t> WithUnpublished(
      const GridDirectory& in, const std::vector<std::uint64_t>& stored,
      const std::vector<std::uint64_t>& unpublished) const;
  // The index page of the last chunk that was looked up: its neighbours are mostly in the same
  // page.
  struct LastPage {
    ShardSlot slot;
    std::shared_ptr<const IndexPage> page;
    std::vector<UnpublishedChunks::Difference> unpublished;
  };
  // Whether a chunk of the last directory level exists. `row`: how many chunks from this one on
  // will be looked up.
  Result<bool> IsPresent(const ChunkRef& chunk, std::uint64_t row, LastPage& last);
  using Time = ShardLister::Time;
  // What was read of store directories since then will do for a new listing.
  [[nodiscard]] Time Begun() const;
  // Whether a chunk is in, or below, a directory. Reads the indexes of the shards there until one
  // is found. `since`: what was read of store directories before does not count.
  Result<bool> HoldsChunks(const GridDirectory& in, Time since);
  // The indices of the shard grid after those in `shard_cell`, which lead to `store_directory`,
  // that shards have.
  Result<ShardLister::Listing> StoredIndices(const std::string& store_directory,
                                             const GridCell& shard_cell, Time since);
  // `shard_cell`: as above; the same on return.
  Result<bool> HoldsChunksIn(const std::string& store_directory, GridCell& shard_cell,
                             const GridCell& indices, Time since);
  Result<bool> ShardHoldsChunks(std::uint64_t shard, const GridCell& indices);
  // The box of all shards whose indices in the shard grid begin with these.
  [[nodiscard]] CellBox BoxOfShards(const GridCell& shard_cell) const;
  // One walk over the shards of nested keys.
  struct NestedWalk {
    const ShardWalk& walk;
    Time since;
    std::vector<std::uint64_t> unpublished;  // shards, ascending
    std::vector<std::uint64_t> run{};        // shards that are still to be visited
  };
  Result<bool> WalkBelow(const std::string& store_directory, GridCell& shard_cell,
                         NestedWalk& nested);
  static Result<bool> VisitRun(NestedWalk& nested);
  // The next indices of shards after `shard_cell` that the walk may want.
  Result<std::vector<std::uint64_t>> IndicesOfWalk(const std::string& store_directory,
                                                   const GridCell& shard_cell,
                                                   const NestedWalk& nested);
  void ListAhead(const std::function<std::string(std::uint64_t)>& below,
                 std::span<const std::uint64_t> indices, const GridCell& shard_cell,
                 const NestedWalk& nested);
  [[nodiscard]] bool Wants(const GridCell& shard_cell, const ShardWalk& walk) const;
  // A run of indices in a directory, and which of them are listed.
  struct Run {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool all = false;                     // otherwise those that are present, and `others`
    std::vector<std::uint64_t> others{};  // ascending
    Time since;                           // as for HoldsChunks
  };
  // Loads, several at a time, what the listing of a directory needs to know of the next of its
  // `rows`, each of which has a run. `from`: the row that is listed next.
  using Rows = std::span<const std::uint64_t>;
  void LoadRows(const GridDirectory& in, Rows rows, std::size_t from, Time since);
  Status ListIndices(const GridDirectory& in, const Run& run, const ListVisitor& visitor,
                     const DamageVisitor& damaged, bool& more);

  const ZarrShardedArray array_;
  const ZarrPositions positions_;
  const ZarrNames names_;
  const ChunkGrid shards_of_chunks_;           // the grid of shards, counted in chunks
  bool slots_follow_grid_ = false;             // in C order of the array's dimensions
  std::vector<std::uint64_t> first_of_level_;  // position of the first directory of a level
};

std::unique_ptr<ShardedTree> MakeZarrTree(std::uint32_t ordinal, std::shared_ptr<ShardSet> shards,
                                          std::shared_ptr<ChunkReader> reader,
                                          const ZarrShardedArray& array,
                                          std::shared_ptr<ObjectStore> store);

}  // namespace unshard
