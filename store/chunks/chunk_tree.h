// The virtual tree of one array, scale or index: which names its chunks have, and which of them
// exist.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/grid/chunk_check.h"
#include "codec/grid/chunk_names.h"
#include "store/chunks/chunk_store.h"
#include "store/chunks/list_mode.h"

namespace unshard {

// Positions of chunks and directories in a tree have at most so many bits.
inline constexpr unsigned kPositionBits = 41;

// The overlay of listings: chunks that are committed and not published yet, and tombstones of
// chunks that are still in their shard. Thread-safe; does no I/O.
class UnpublishedChunks {
 public:
  struct Difference {
    std::uint64_t slot = 0;
    bool removed = false;
  };
  virtual ~UnpublishedChunks() = default;
  // True as long as there are none in any tree.
  [[nodiscard]] virtual bool empty() const = 0;
  // Whether chunks (not tombstones) of a tree are in, or below, a directory of it.
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

class ShardedTree;

// Immutable except for caches; thread-safe.
class ChunkTree {
 public:
  struct Match {
    using Kind = NameKind;
    Kind kind = Kind::kOther;
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

  // `directory`: the store directory of level 0.
  ChunkTree(std::uint32_t ordinal, std::string directory)
      : ordinal_(ordinal), directory_(std::move(directory)) {}
  virtual ~ChunkTree() = default;

  [[nodiscard]] std::uint32_t ordinal() const { return ordinal_; }
  // The number of the tree whose chunks these are as they are stored: this one's, unless a view
  // presents them in another form. References to chunks are the same in both.
  [[nodiscard]] virtual std::uint32_t stored_ordinal() const { return ordinal_; }
  // That tree; null: this one.
  [[nodiscard]] virtual std::shared_ptr<ShardedTree> stored_elsewhere() const { return nullptr; }
  // Whether a chunk is made of several stored ones, whose versions its own generations are made of:
  // it has no committed versions of its own.
  [[nodiscard]] virtual bool joins() const { return false; }
  // The chunks, of the tree that has them, which are written for this one.
  [[nodiscard]] virtual std::vector<ChunkRef> StoredChunks(const ChunkRef& chunk) const {
    return {chunk};
  }
  // The versions and bytes of its chunks.
  [[nodiscard]] virtual ChunkStore& chunks() = 0;
  // True once the metadata say that chunks are stored otherwise, or no longer describe the tree:
  // chunks that are open stay readable; nothing is looked up, written or published here.
  [[nodiscard]] bool retired() const { return retired_.load(std::memory_order_acquire); }
  void Retire() { retired_.store(true, std::memory_order_release); }
  // What the metadata say of how chunks are stored (codec/zarr3/layout_digest.h): chunks of one
  // name are stored alike in trees of one digest.
  [[nodiscard]] virtual std::uint32_t layout_digest() const = 0;
  // The store directory of level 0.
  [[nodiscard]] const std::string& directory() const { return directory_; }

  // Names, without I/O (codec/grid/chunk_names.h). Paths are those below directory(); "" where no
  // chunk is.
  [[nodiscard]] virtual const ChunkNames& names() const = 0;
  [[nodiscard]] Match Resolve(const GridDirectory& in, std::string_view name) const;
  [[nodiscard]] std::string Path(const ChunkRef& chunk) const;
  [[nodiscard]] std::string Path(const GridDirectory& directory) const {
    return names().Path(directory);
  }
  // The directory of the tree that contains a chunk, or a directory of level 1 or deeper.
  [[nodiscard]] GridDirectory Parent(const ChunkRef& chunk) const;
  [[nodiscard]] GridDirectory Parent(const GridDirectory& directory) const {
    return names().Parent(directory);
  }
  // The number of directory levels below level 0.
  [[nodiscard]] unsigned depth() const { return names().depth(); }
  // The chunk of a file, and the file of a chunk; nothing for references that no chunk has (unused
  // Morton codes, slots beyond the array).
  [[nodiscard]] virtual ChunkRef RefOf(const ChunkFile& file) const = 0;
  [[nodiscard]] virtual std::optional<ChunkFile> FileOf(const ChunkRef& chunk) const = 0;

  // The store directory of the objects that hold the chunks under a directory of the tree.
  [[nodiscard]] virtual std::string StoreDirectory(const GridDirectory& in) const = 0;
  // True where that directory has the same name: level 0 and the "c" of the default key encoding.
  // Its names that are no chunks are those of the store directory; deeper, a directory of the grid
  // and one of the store have no names in common.
  [[nodiscard]] virtual bool IsStoreDirectory(const GridDirectory& in) const = 0;
  // True where a store key, relative to directory(), is a shard and therefore hidden.
  [[nodiscard]] virtual bool IsShardKey(std::string_view key) const {
    (void)key;
    return false;
  }

  // Lists the chunks in a directory, and the directories that hold chunks, after `cookie` (0: from
  // the start) in storage order; with kGrid every directory of the grid. Cookies are below
  // kCookieEnd. What cannot be read is reported to `damaged`: chunks of such shards are left out,
  // directories above them are listed. `others`: directories in it that are listed because they
  // hold something else.
  static constexpr std::uint64_t kCookieEnd = (std::uint64_t{1} << 61) - 64;
  enum class Unreadable { kLeftOut, kListed };
  using DamageVisitor = std::function<void(const Error&, Unreadable)>;
  virtual Status List(const GridDirectory& in, std::uint64_t cookie, ListMode mode,
                      const ListVisitor& visitor, const DamageVisitor& damaged,
                      const std::vector<GridDirectory>& others = {}) = 0;
  // When StoreDirectory() was modified; nothing where it is missing.
  virtual Result<std::optional<timespec>> Modified(const GridDirectory& in) = 0;
  // Invalidates what List and Modified remember of the store's directories.
  virtual void ForgetListings() {}

  // Calls `visitor` for the directories below level 0 that hold chunks of a shard: they appear and
  // vanish with it.
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

  // Whether the entry of a chunk is two files, manifest and fragments.
  [[nodiscard]] bool is_mesh() const { return names().parts().size() > 1; }

  // Set once, before the tree is used; null: there is no overlay.
  void SetUnpublished(std::shared_ptr<const UnpublishedChunks> unpublished) {
    unpublished_ = std::move(unpublished);
  }

  // Whether a written chunk can be valid. `start`: ChunkCheck::NeededBytes(size) of its bytes.
  [[nodiscard]] Status CheckChunk(const ChunkRef& chunk, std::uint64_t size, ByteSpan start) const {
    return check().Check(CellOf(chunk), size, start);
  }
  // The only length that a chunk can have; nothing where it varies.
  [[nodiscard]] std::optional<std::uint64_t> FixedSize(const ChunkRef& chunk) const;
  // True where other names beside the chunks are scratch files and not files of the source.
  [[nodiscard]] virtual bool HoldsScratch() const { return true; }
  // True where "<chunk>.gz" may be written: the same chunk, compressed by gzip.
  [[nodiscard]] virtual bool TakesGzipNames() const { return false; }
  [[nodiscard]] virtual const ChunkCheck& check() const = 0;

 protected:
  // Empty where chunks have ids. Requires: a chunk of the tree.
  [[nodiscard]] GridCell CellOf(const ChunkRef& chunk) const { return FileOf(chunk)->cell; }
  // Null where there is no overlay: nothing is written.
  [[nodiscard]] const UnpublishedChunks* unpublished() const { return unpublished_.get(); }

 private:
  const std::uint32_t ordinal_;
  const std::string directory_;
  std::atomic<bool> retired_{false};
  std::shared_ptr<const UnpublishedChunks> unpublished_;
};

}  // namespace unshard
