// Trees whose chunk names are all in one directory: precomputed volumes, annotations, skeletons,
// meshes, and Zarr arrays with a flat chunk key encoding; other Zarr arrays have more directories
// (store/chunks/zarr_tree.h).
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "store/chunks/shard_lister.h"
#include "store/chunks/shard_probe.h"
#include "store/chunks/sharded_tree.h"
#include "store/object/step_check.h"

namespace unshard {

// The listing of one flat directory, in storage order: shards ascending, in each shard its index
// pages ascending, in each page its slots ascending. A cookie names the chunk that was listed last,
// so that a listing goes on after it also when that chunk is gone.
//
// Which shards exist comes from the store's listing or, where it cannot list, from a request for
// each of up to ShardProbe::kMostShards. With kGrid, or where there may be more shards than that,
// such a store's listing has all chunks of the grid, present or not, and costs no request; where
// chunks have ids it is then empty.
class FlatTree : public ShardedTree {
 public:
  using Shards = std::span<const std::uint64_t>;

  FlatTree(std::uint32_t ordinal, std::shared_ptr<ShardSet> shards,
           std::shared_ptr<ChunkReader> reader, std::shared_ptr<ObjectStore> store)
      : ShardedTree(ordinal, std::move(shards), std::move(reader)),
        lists_(store->capabilities().lists),
        remote_(!store->capabilities().keeps_replaced_versions),
        lister_(std::move(store), WatchOf(this->shards()), this->shards().options().clock),
        probe_(this->shards()) {}

  using ShardedTree::Position;
  std::string StoreDirectory(const GridDirectory&) const override { return directory(); }
  bool IsStoreDirectory(const GridDirectory&) const override { return true; }
  std::optional<std::uint64_t> Position(const GridDirectory&) const override {
    return std::nullopt;
  }
  Status List(const GridDirectory& in, std::uint64_t cookie, ListMode mode,
              const ListVisitor& visitor, const DamageVisitor& damaged,
              const std::vector<GridDirectory>& others) override;
  Result<bool> WalkShards(const ShardWalk& walk) override;
  Result<bool> VisitChunks(std::uint64_t shard, const FileVisitor& visitor,
                           const DamageVisitor& damaged) override;
  Status ListChunks(std::uint64_t cookie, const FileVisitor& visitor,
                    const DamageVisitor& damaged) override;
  Result<std::uint64_t> Cookie(const ChunkRef& chunk) override;
  // From a file the pages are only begun: the kernel reads on, several pages at a time, while the
  // caller lists those that it has. More than kPagesAtOnce of `following` are not needed.
  std::size_t LoadPages(Shards following) const override;
  Result<std::optional<timespec>> Modified(const GridDirectory&) override {
    return lister_.Modified(directory());
  }
  void ForgetListings() override { lister_.Forget(); }

 protected:
  // The number of a slot in cookies, and the inverse: a chunk id or an arithmetic position.
  [[nodiscard]] virtual std::uint64_t Number(const ShardSlot& slot) const = 0;
  [[nodiscard]] virtual ShardSlot SlotOf(std::uint64_t number) const = 0;
  // One more than the largest number of a slot; nothing where the chunks are no grid.
  [[nodiscard]] virtual std::optional<std::uint64_t> NumberEnd() const = 0;
  // Whether the store can list.
  [[nodiscard]] bool lists() const { return lists_; }
  // Whether a listing has all chunks of the grid, present or not.
  [[nodiscard]] bool ListsWholeGrid(ListMode mode) const {
    return !lists_ && NumberEnd() &&
           (mode == ListMode::kGrid || ShardEnd() > ShardProbe::kMostShards);
  }
  // The shards that exist, in a store that cannot list; none where they are too many to ask.
  Result<ShardLister::Numbers> ProbedShards(bool begins);
  // The generation that a listing presents. If the store cannot list, this is the generation that
  // probing has found.
  Result<ShardGenerationPtr> ListedGeneration(std::uint64_t shard) const;
  [[nodiscard]] ShardLister& lister() { return lister_; }
  // Whether each request costs the way to a remote store.
  [[nodiscard]] bool remote() const { return remote_; }
  // What is known of a shard. kAll: all that is loaded ahead, which is nothing of shards with very
  // many index pages.
  enum class Has { kNothing, kPagesToValidate, kAll };
  [[nodiscard]] Has HasPages(std::uint64_t shard) const;
  static constexpr std::size_t kPagesAtOnce = 32;

 private:
  struct Cursor {
    std::optional<ChunkRef> last;  // nothing: from the start
    const FileVisitor& visitor;
    const DamageVisitor& damaged;
    StepCheck& steps;
  };
  Status ListWholeGrid(const Cursor& cursor);
  Result<bool> ListShards(Shards shards, const Cursor& cursor);
  void BeginPages(Shards group) const;
  void OpenAndBegin(std::uint64_t shard) const;
  // False: the visitor has ended the listing.
  static bool LeaveOut(const Error& error, const Cursor& cursor);
  Result<bool> ListShard(std::uint64_t shard, const Cursor& cursor);
  Result<bool> ListUnpublished(ShardGenerationPtr generation,
                               const std::vector<std::uint64_t>& pages, const Cursor& cursor);
  Result<bool> ListPage(std::uint64_t shard, std::uint64_t page, const IndexPage& index_page,
                        const Cursor& cursor);
  [[nodiscard]] std::optional<ChunkRef> AtCookie(std::uint64_t cookie);

  const bool lists_;
  const bool remote_;
  ShardLister lister_;
  ShardProbe probe_;
  std::atomic<bool> warned_{false};  // of too many shards
  std::mutex mutex_;
  // Numbers too large for a cookie get one from here; bounded by kMaxLargeNumbers.
  std::vector<std::uint64_t> large_numbers_;                          // guarded by mutex_
  std::unordered_map<std::uint64_t, std::uint64_t> large_positions_;  // guarded by mutex_
};

}  // namespace unshard
