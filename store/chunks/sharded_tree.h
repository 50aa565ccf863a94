// The virtual tree of an array, scale or index whose chunks are entries of shards.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/chunks/chunk_reader.h"
#include "store/chunks/chunk_tree.h"
#include "store/chunks/sharded_chunks.h"
#include "store/shard/set.h"

namespace unshard {

// The cells from `begin` on that are below `end` in each dimension.
struct CellBox {
  GridCell begin;
  GridCell end;
};

// A walk over the shards that exist or have unpublished chunks. `visit` may get a missing shard too
// if asking whether it exists costs as much as listing it.
struct ShardWalk {
  bool begins = true;       // false: what an earlier walk has listed will do
  std::uint64_t first = 0;  // shards before this one are left out
  // Shards without a cell of this box may be left out; nothing: none are.
  std::optional<CellBox> within = std::nullopt;
  // Whether shards are wanted that hold chunks of this box only; null: all are. Saves requests.
  std::function<bool(const CellBox&)> wants = nullptr;
  // Runs may be short: what one shows is likely to make others unwanted.
  bool hesitates = false;
  // Gets runs of shards, ascending; false ends the walk.
  std::function<Result<bool>(std::span<const std::uint64_t>)> visit;
};

// Immutable except for caches; thread-safe.
class ShardedTree : public ChunkTree {
 public:
  ShardedTree(std::uint32_t ordinal, std::shared_ptr<ShardSet> shards,
              std::shared_ptr<ChunkReader> reader);

  [[nodiscard]] ChunkStore& chunks() override { return chunks_; }
  [[nodiscard]] ShardSet& shards() const { return *shards_; }
  [[nodiscard]] const std::shared_ptr<ShardSet>& shared_shards() const { return shards_; }
  [[nodiscard]] bool IsShardKey(std::string_view key) const override;

  // Where the entry of a chunk is stored.
  [[nodiscard]] virtual ShardSlot Locate(const ChunkFile& chunk) const = 0;
  // The plain file of the chunk whose entry is stored there; nothing for slots that no chunk has
  // (unused Morton codes, slots beyond the array).
  [[nodiscard]] virtual std::optional<ChunkFile> ChunkAt(const ShardSlot& slot) const = 0;
  [[nodiscard]] ChunkRef RefOf(const ChunkFile& file) const override {
    return {Locate(file), file.part};
  }
  [[nodiscard]] std::optional<ChunkFile> FileOf(const ChunkRef& chunk) const override;

  // Calls `visitor` for the chunks of one generation of a shard.
  Status ForEachPresent(const ShardGenerationPtr& generation,
                        const std::function<void(const ChunkRef&)>& visitor);

  // False where the walk was ended; fails as `visit` and the store's listings do.
  virtual Result<bool> WalkShards(const ShardWalk& walk) = 0;
  // The cells of files that a shard can hold; nothing where it can hold any.
  [[nodiscard]] virtual std::optional<CellBox> BoxOf(std::uint64_t shard) const {
    (void)shard;
    return std::nullopt;
  }
  // Calls `visitor` for the chunks of a shard or, in storage order, for those of all shards after
  // `cookie`, in whichever directory they are, until it returns false. The overlay is applied. What
  // cannot be read is reported to `damaged`. VisitChunks is false where the visitor has ended it.
  using FileVisitor = std::function<Result<bool>(const ChunkRef&, const ChunkFile&)>;
  virtual Result<bool> VisitChunks(std::uint64_t shard, const FileVisitor& visitor,
                                   const DamageVisitor& damaged) = 0;
  virtual Status ListChunks(std::uint64_t cookie, const FileVisitor& visitor,
                            const DamageVisitor& damaged) = 0;
  // The cookie of a listing that goes on after this chunk.
  virtual Result<std::uint64_t> Cookie(const ChunkRef& chunk) = 0;
  // Loads the index pages of the first of these shards, unless they are there, and with them those
  // of shards that are listed next, a bounded number. `following`: ascending. How many of them need
  // no other call.
  virtual std::size_t LoadPages(std::span<const std::uint64_t> following) const = 0;

  // The entries of an index page with the overlay applied, for listings. Those of unpublished
  // chunks have no valid range. `generation`: the current one a moment ago; it becomes the one
  // whose page is returned, which includes what has been published since. Fails with kConflict
  // where the shard keeps being overwritten.
  Result<std::shared_ptr<const IndexPage>> ShownPage(ShardGenerationPtr& generation,
                                                     std::uint64_t page) const;

  // Another object that is replaced in place of a shard's own, and its format; nothing where a
  // shard is stored as shards() says.
  struct StoredForm {
    std::string key;
    std::shared_ptr<const ShardFormat> format;
  };
  virtual Result<std::optional<StoredForm>> OtherForm(std::uint64_t shard) const {
    (void)shard;
    return std::nullopt;
  }

  // The plain size of a chunk where it follows from the metadata alone; 0 where it does not.
  [[nodiscard]] virtual std::uint64_t PlainSize(const ShardSlot& slot) const {
    (void)slot;
    return 0;
  }
  // One more than the largest number that a shard can have.
  [[nodiscard]] virtual std::uint64_t ShardEnd() const = 0;
  // One more than the largest position, where the chunks of each shard have neighbouring positions,
  // ascending by page and slot; nothing where a hash scatters ids over shards, or chunks have ids.
  [[nodiscard]] virtual std::optional<std::uint64_t> PositionEnd() const = 0;
  // Smallest legal size of the index at the start of a shard; mesh fragments follow it.
  [[nodiscard]] virtual std::uint64_t ShardIndexBytes() const { return 0; }
  // The number of chunks that a full shard has; 0 where it is unknown.
  [[nodiscard]] virtual std::uint64_t ChunksInShard(std::uint64_t shard) const {
    (void)shard;
    return 0;
  }

 protected:
  // ShardSet::Watch of a set that outlives the receiver of the function.
  static auto WatchOf(ShardSet& shards) {
    return [&shards](const std::string& key) { return shards.Watch(key); };
  }

  // A precomputed shard without a single byte: none of its pages, of which there may be 2^64, has
  // an entry.
  static bool HoldsNothing(const ShardGeneration& generation, const IndexPage& page);

  // A publish first has its generation of the shard known, and then takes its chunks out of the
  // overlay. So the overlay is looked at before the shard: what leaves it in between is in this
  // generation. `seen`: the current one a moment before the overlay was looked at.
  Result<ShardGenerationPtr> AfterPublishes(const ShardGenerationPtr& seen) const;
  // A page of the generation after publishes, which `generation` becomes. Where the shard is
  // overwritten while the page is read, the page of the next generation (store/shard/set.h, step
  // 5).
  Result<std::shared_ptr<const IndexPage>> PageAfterPublishes(ShardGenerationPtr& generation,
                                                              std::uint64_t page) const;
  // How listings differ from a page of a shard in the slots from `first` to `last`.
  [[nodiscard]] std::vector<UnpublishedChunks::Difference> UnpublishedInPage(
      std::uint64_t shard, std::uint64_t page, std::uint64_t first, std::uint64_t last) const;
  // Shards, and pages of a shard, that have unpublished chunks; ascending.
  [[nodiscard]] std::vector<std::uint64_t> UnpublishedShards() const;
  [[nodiscard]] std::vector<std::uint64_t> UnpublishedPages(std::uint64_t shard) const;

 private:
  const std::shared_ptr<ShardSet> shards_;
  ShardedChunks chunks_;
};

// Requires: a sharded tree, as those of all committed versions are.
inline const ShardedTree& ShardedOf(const ChunkTree& tree) {
  return dynamic_cast<const ShardedTree&>(tree);
}

}  // namespace unshard
