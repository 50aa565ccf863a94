// The virtual tree of one sharded array, scale or index: which names it has, and which entry of
// which shard stands behind each of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/grid/chunk_grid.h"
#include "codec/precomputed/info.h"
#include "codec/zarr3/metadata.h"
#include "fs/common/mount_options.h"
#include "store/shard/set.h"

namespace unshard {

// Which bytes of an entry a virtual file shows.
enum class ChunkPart : std::uint8_t {
  kPlain,      // the inner chunk as an unsharded dataset stores it
  kStored,     // "<name>.gz": the gzip member as it stands in the shard
  kFragments,  // mesh "<id>": the fragment bytes before the manifest
};

struct ChunkRef {
  ShardSlot slot;
  ChunkPart part = ChunkPart::kPlain;
  friend bool operator==(const ChunkRef&, const ChunkRef&) = default;
};

// A directory inside the tree. Level 0 is the directory of the array itself; deeper levels exist
// where chunk keys contain '/'. `prefix` is the C-order position of the indices that lead there.
// Every directory of the grid exists, whether or not it holds chunks; listings have those that do.
struct GridDirectory {
  unsigned level = 0;
  std::uint64_t prefix = 0;
  friend bool operator==(const GridDirectory&, const GridDirectory&) = default;
};

// What listings show beside what the store has: chunks that are committed and not published yet,
// and chunks that are removed and still in their shard. Thread-safe; does no I/O.
class UnpublishedChunks {
 public:
  struct Difference {
    std::uint64_t slot = 0;
    bool removed = false;
  };
  virtual ~UnpublishedChunks() = default;
  // True as long as there are none in any tree.
  [[nodiscard]] virtual bool empty() const = 0;
  // Whether chunks (not removals) of a tree stand in, or below, a directory of it.
  [[nodiscard]] virtual bool HoldsChunks(std::uint32_t tree, const GridDirectory& in) const = 0;
  // Shards of a tree that differ, and pages of such a shard; ascending.
  [[nodiscard]] virtual std::vector<std::uint64_t> Shards(std::uint32_t tree) const = 0;
  [[nodiscard]] virtual std::vector<std::uint64_t> Pages(std::uint32_t tree,
                                                         std::uint64_t shard) const = 0;
  // Those of the slots from `first` to `last`, ascending by slot, each once.
  [[nodiscard]] virtual std::vector<Difference> InPage(std::uint32_t tree, std::uint64_t shard,
                                                       std::uint64_t page, std::uint64_t first,
                                                       std::uint64_t last) const = 0;
};

// Immutable but for caches; thread-safe.
class ChunkTree {
 public:
  struct Match {
    enum class Kind { kOther, kNoChunk, kDirectory, kChunk } kind = Kind::kOther;
    GridDirectory directory;
    ChunkRef chunk;
  };
  // One name of a listing and the cookie after which to go on. False: the caller's buffer is full.
  struct Listed {
    std::string_view name;
    Match match;
    std::uint64_t next_cookie = 0;
  };
  using ListVisitor = std::function<bool(const Listed&)>;

  ChunkTree(std::uint32_t ordinal, std::shared_ptr<ShardSet> shards)
      : ordinal_(ordinal), shards_(std::move(shards)) {}
  virtual ~ChunkTree() = default;

  [[nodiscard]] std::uint32_t ordinal() const { return ordinal_; }
  [[nodiscard]] ShardSet& shards() const { return *shards_; }
  // True from the moment on in which the metadata say that chunks are stored otherwise, or are
  // gone: who has an old chunk open reads on; nothing is looked up, written or published here.
  [[nodiscard]] bool retired() const { return retired_.load(std::memory_order_acquire); }
  void Retire() { retired_.store(true, std::memory_order_release); }
  // What the metadata say of how chunks are stored (codec/zarr3/layout_digest.h): chunks of one
  // name are stored alike in trees of one digest.
  [[nodiscard]] virtual std::uint32_t layout_digest() const = 0;
  // The store directory of level 0.
  [[nodiscard]] const std::string& directory() const { return shards_->directory(); }

  // What `name` in a directory of the tree is; by grammar alone, without I/O.
  [[nodiscard]] virtual Match Resolve(const GridDirectory& in, std::string_view name) const = 0;
  // The path of a chunk or directory below directory(): "c/0/3", "0-64_0-64_0-64".
  [[nodiscard]] virtual std::string Path(const ChunkRef& chunk) const = 0;
  [[nodiscard]] virtual std::string Path(const GridDirectory& directory) const = 0;
  // The directory of the tree that a chunk, or a directory of level 1 or deeper, stands in.
  [[nodiscard]] virtual GridDirectory Parent(const ChunkRef& chunk) const = 0;
  [[nodiscard]] virtual GridDirectory Parent(const GridDirectory& directory) const = 0;
  // The number of directory levels below level 0.
  [[nodiscard]] virtual unsigned depth() const { return 0; }
  // The store directory that holds the shards under a directory of the tree.
  [[nodiscard]] virtual std::string StoreDirectory(const GridDirectory& in) const = 0;
  // True where that directory has the same name: level 0 and the "c" of the default key encoding.
  // Its other names are those of the store; below, a directory of the grid and one of the store
  // have nothing in common.
  [[nodiscard]] virtual bool IsStoreDirectory(const GridDirectory& in) const = 0;
  // True where a store key, relative to directory(), is a shard and therefore hidden.
  [[nodiscard]] bool IsShardKey(std::string_view key) const;

  // Lists the chunks in a directory, and the directories that hold chunks, after `cookie` (0: from
  // the start) in storage order; with kGrid every directory of the grid. Chunks of shards that
  // cannot be read are left out and reported to `damaged`; directories above them are listed.
  // `others`: directories in it that hold something else that is to be found.
  using DamageVisitor = std::function<void(const Error&)>;
  virtual Status List(const GridDirectory& in, std::uint64_t cookie, ListMode mode,
                      const ListVisitor& visitor, const DamageVisitor& damaged,
                      const std::vector<GridDirectory>& others = {}) = 0;
  // When StoreDirectory() was modified; nothing where it is not there.
  virtual Result<std::optional<timespec>> Modified(const GridDirectory& in) = 0;
  // Forgets what List and Modified remember of the store's directories.
  virtual void ForgetListings() {}

  // Calls `visitor` for the chunks of one generation of a shard, for telling the kernel.
  Status ForEachPresent(const ShardGenerationPtr& generation,
                        const std::function<void(const ChunkRef&)>& visitor);

  // Calls `visitor` for the directories below level 0 that hold chunks of a shard, which come and
  // go with it.
  virtual void ForEachDirectory(std::uint64_t shard,
                                const std::function<void(const GridDirectory&)>& visitor) const {
    (void)shard;
    (void)visitor;
  }

  // Calls `visitor` for the directories below level 0 whose StoreDirectory() is this key, relative
  // to directory(), whether or not they exist.
  virtual void ForEachDirectoryAt(std::string_view key,
                                  const std::function<void(const GridDirectory&)>& visitor) const {
    (void)key;
    (void)visitor;
  }

  // Arithmetic position of a chunk or directory, in storage order; nothing where there is none
  // (ids, parts other than kPlain). The inverse requires such a position.
  [[nodiscard]] virtual std::optional<std::uint64_t> Position(const ChunkRef& chunk) const = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> Position(
      const GridDirectory& directory) const = 0;
  [[nodiscard]] virtual Match AtPosition(std::uint64_t position) const = 0;

  // The plain size of a chunk where it follows from the metadata alone; 0 where it does not.
  [[nodiscard]] virtual std::uint64_t PlainSize(const ShardSlot& slot) const {
    (void)slot;
    return 0;
  }
  // Smallest legal size of the index at the start of a shard; mesh fragments stand behind it.
  [[nodiscard]] virtual std::uint64_t ShardIndexBytes() const { return 0; }
  [[nodiscard]] virtual bool is_mesh() const { return false; }

  // Set once, before the tree is used; null: the store is all there is.
  void SetUnpublished(std::shared_ptr<const UnpublishedChunks> unpublished) {
    unpublished_ = std::move(unpublished);
  }
  // Whether chunks that are not in the store yet stand in, or below, a directory.
  [[nodiscard]] bool HoldsWritten(const GridDirectory& in) const;

  // Writing. What a chunk has to look like (codec/voxel/chunk_check.h): as many bytes from the
  // start of a chunk of `size` bytes as CheckChunk wants to see; and whether it can be right.
  [[nodiscard]] virtual std::uint64_t BytesToCheck(std::uint64_t size) const = 0;
  [[nodiscard]] virtual Status CheckChunk(const ChunkRef& chunk, std::uint64_t size,
                                          ByteSpan start) const = 0;
  // The only length that a chunk can have; nothing where it varies.
  [[nodiscard]] virtual std::optional<std::uint64_t> FixedSize(const ChunkRef& chunk) const = 0;
  // The number of chunks that a full shard has; 0 where nobody knows.
  [[nodiscard]] virtual std::uint64_t ChunksInShard(std::uint64_t shard) const {
    (void)shard;
    return 0;
  }
  // True where other names beside the chunks are scratch files and not files of the source.
  [[nodiscard]] virtual bool HoldsScratch() const { return true; }
  // True where "<chunk>.gz" may be written and means the chunk in a gzip file.
  [[nodiscard]] virtual bool TakesGzipNames() const { return false; }

 protected:
  // ShardSet::Watch of a set that outlives what it is given to.
  static auto WatchOf(ShardSet& shards) {
    return [&shards](const std::string& key) { return shards.Watch(key); };
  }

  // A precomputed shard without a single byte: none of its pages, of which there may be 2^64, has
  // an entry.
  static bool HoldsNothing(const ShardGeneration& generation, const IndexPage& page);

  // The entries of an index page as listings show them. Ranges of unpublished chunks mean nothing.
  Result<std::shared_ptr<const IndexPage>> ShownPage(const ShardGenerationPtr& generation,
                                                     std::uint64_t page) const;
  // How listings differ from a page of a shard in the slots from `first` to `last`.
  [[nodiscard]] std::vector<UnpublishedChunks::Difference> UnpublishedInPage(
      std::uint64_t shard, std::uint64_t page, std::uint64_t first, std::uint64_t last) const;
  // Shards, and pages of a shard, that have unpublished chunks; ascending.
  [[nodiscard]] std::vector<std::uint64_t> UnpublishedShards() const;
  [[nodiscard]] std::vector<std::uint64_t> UnpublishedPages(std::uint64_t shard) const;

 private:
  const std::uint32_t ordinal_;
  const std::shared_ptr<ShardSet> shards_;
  std::atomic<bool> retired_{false};
  std::shared_ptr<const UnpublishedChunks> unpublished_;
};

std::unique_ptr<ChunkTree> MakePrecomputedTree(std::uint32_t ordinal,
                                               std::shared_ptr<ShardSet> shards,
                                               const ShardedDirectory& directory,
                                               std::shared_ptr<const ChunkLocator> locator,
                                               std::shared_ptr<ObjectStore> store);
std::unique_ptr<ChunkTree> MakeZarrTree(std::uint32_t ordinal, std::shared_ptr<ShardSet> shards,
                                        const ZarrShardedArray& array,
                                        std::shared_ptr<ObjectStore> store);

}  // namespace unshard
