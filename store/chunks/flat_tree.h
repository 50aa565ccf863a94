// Trees whose chunk names are all in one directory: precomputed volumes, annotations, skeletons,
// meshes, and Zarr arrays with a flat chunk key encoding; other Zarr arrays have more directories
// (store/chunks/zarr_tree.h).
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "store/chunks/shard_lister.h"
#include "store/chunks/sharded_tree.h"

namespace unshard {

// The listing of one flat directory, in storage order: shards ascending, in each shard its index
// pages ascending, in each page its slots ascending. A cookie names the chunk that was listed last,
// so that a listing goes on after it also when that chunk is gone.
class FlatTree : public ShardedTree {
 public:
  FlatTree(std::uint32_t ordinal, std::shared_ptr<ShardSet> shards,
           std::shared_ptr<ChunkReader> reader, std::shared_ptr<ObjectStore> store)
      : ShardedTree(ordinal, std::move(shards), std::move(reader)),
        lister_(std::move(store), WatchOf(this->shards())) {}

  using ShardedTree::Position;
  std::string StoreDirectory(const GridDirectory&) const override { return directory(); }
  bool IsStoreDirectory(const GridDirectory&) const override { return true; }
  std::optional<std::uint64_t> Position(const GridDirectory&) const override {
    return std::nullopt;
  }
  Status List(const GridDirectory& in, std::uint64_t cookie, ListMode mode,
              const ListVisitor& visitor, const DamageVisitor& damaged,
              const std::vector<GridDirectory>& others) override;
  Result<std::optional<timespec>> Modified(const GridDirectory&) override {
    return lister_.Modified(directory());
  }
  void ForgetListings() override { lister_.Forget(); }

 protected:
  // The number of a slot in cookies, and the inverse: a chunk id or an arithmetic position.
  [[nodiscard]] virtual std::uint64_t Number(const ShardSlot& slot) const = 0;
  [[nodiscard]] virtual ShardSlot SlotOf(std::uint64_t number) const = 0;
  [[nodiscard]] ShardLister& lister() { return lister_; }

 private:
  struct Cursor {
    std::optional<ChunkRef> last;  // nothing: from the start
    const ListVisitor& visitor;
    const DamageVisitor& damaged;
  };
  // False: the visitor has ended the listing.
  Result<bool> ListShard(std::uint64_t shard, const Cursor& cursor);
  Result<bool> ListUnpublished(const ShardGenerationPtr& generation, const Cursor& cursor);
  Result<bool> ListPage(std::uint64_t shard, std::uint64_t page, const IndexPage& index_page,
                        const Cursor& cursor);
  Result<std::uint64_t> Cookie(const ChunkRef& chunk);
  [[nodiscard]] std::optional<ChunkRef> AtCookie(std::uint64_t cookie);

  ShardLister lister_;
  std::mutex mutex_;
  // Numbers too large for a cookie get one from here; bounded by kMaxLargeNumbers.
  std::vector<std::uint64_t> large_numbers_;                          // guarded by mutex_
  std::unordered_map<std::uint64_t, std::uint64_t> large_positions_;  // guarded by mutex_
};

}  // namespace unshard
