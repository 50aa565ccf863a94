// The tree of an array as a view presents it: its own names, the chunks of a stored tree.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "codec/pyramid/chunk_mapping.h"
#include "codec/zarr3/chunk_names.h"
#include "store/chunks/child_collector.h"
#include "store/chunks/chunk_tree.h"
#include "store/chunks/committed_versions.h"
#include "store/chunks/presented_chunks.h"
#include "store/chunks/sharded_tree.h"
#include "store/chunks/transcoded_chunks.h"
#include "store/object/object_store.h"

namespace unshard {

// References to chunks are those of the stored tree. Listings have the chunks that are present and
// the directories that hold some, in the order of the stored chunks where all names are in one
// directory. They cost what is stored: no request and no step for a shard that does not exist.
// Views of a store that cannot list, and those that present absent chunks, list all of the grid.
// Immutable except for caches; thread-safe.
class PresentedTree final : public ChunkTree {
 public:
  struct Parts {
    std::uint32_t ordinal = 0;
    std::string directory;  // where the view has it
    std::shared_ptr<ShardedTree> stored;
    std::shared_ptr<const ChunkMapping> mapping;
    std::shared_ptr<ByteBudgetCache> cache;  // of encoded chunks
    std::uint64_t max_chunk_bytes = 0;       // of the voxels of one chunk
    Capabilities store;
    std::shared_ptr<CommittedVersions> written;  // null: it is only read
    bool lossy = false;                          // chunks may be stored in an encoding that loses
  };
  // Fails as FileGridOf does.
  static Result<std::shared_ptr<PresentedTree>> Make(Parts parts);

  // Writing: see PresentedChunks.
  [[nodiscard]] const std::shared_ptr<ShardedTree>& stored() const { return stored_; }
  // Fails with kReadOnly where what is written could not be stored, or not as it is.
  [[nodiscard]] Status CanStore() const;
  [[nodiscard]] bool presents_absent() const { return mapping_->writes_absent(); }
  [[nodiscard]] PresentedChunks& presented() { return *chunks_; }
  // Requires: a tree that does not join.
  [[nodiscard]] TranscodedChunks& transcoded() { return *transcoded_; }
  [[nodiscard]] bool joins() const override { return !mapping_->same_grid(); }
  [[nodiscard]] std::vector<ChunkRef> StoredChunks(const ChunkRef& chunk) const override {
    return chunks_->StoredChunks(chunk);
  }
  [[nodiscard]] std::uint32_t stored_ordinal() const override { return stored_->ordinal(); }
  [[nodiscard]] std::shared_ptr<ShardedTree> stored_elsewhere() const override { return stored_; }

  ChunkStore& chunks() override { return *chunks_; }
  std::uint32_t layout_digest() const override { return stored_->layout_digest(); }
  const ChunkNames& names() const override { return *names_; }
  ChunkRef RefOf(const ChunkFile& file) const override;
  std::optional<ChunkFile> FileOf(const ChunkRef& chunk) const override;
  // The store has no directory that corresponds to one of this tree.
  std::string StoreDirectory(const GridDirectory&) const override { return stored_->directory(); }
  bool IsStoreDirectory(const GridDirectory&) const override { return false; }
  Status List(const GridDirectory& in, std::uint64_t cookie, ListMode mode,
              const ListVisitor& visitor, const DamageVisitor& damaged,
              const std::vector<GridDirectory>& others) override;
  Result<std::optional<timespec>> Modified(const GridDirectory&) override {
    return stored_->Modified({});
  }
  void ForgetListings() override { stored_->ForgetListings(); }
  std::optional<std::uint64_t> Position(const ChunkRef& chunk) const override;
  std::optional<std::uint64_t> Position(const GridDirectory& directory) const override;
  Match AtPosition(std::uint64_t position) const override;
  bool TakesGzipNames() const override;

 protected:
  const ChunkCheck& check() const override { return *check_; }

 private:
  // Names of a directory, as numbers from `from` on and below `end`.
  struct KnownNames {
    GridDirectory in;
    std::uint64_t from = 0;
    std::uint64_t end = 0;
    std::shared_ptr<const std::vector<std::uint64_t>> numbers;
  };

  PresentedTree(Parts parts, ChunkGrid grid, ChunkGrid stored_grid);
  static std::unique_ptr<PresentedChunks> MakeChunks(const Parts& parts);

  // The numbers of a directory's names, as the indices of the grid that follow those of its path;
  // in one directory all cells, in C order.
  [[nodiscard]] std::uint64_t NameCount(const GridDirectory& in) const;
  [[nodiscard]] Match NameAt(const GridDirectory& in, std::uint64_t number) const;
  // For each axis of the view's files that of the stored ones; nothing where these have none.
  [[nodiscard]] std::vector<std::optional<std::size_t>> StoredAxes() const;
  // Requires: nested names, as the next three do.
  [[nodiscard]] ViewDirectory DirectoryOf(const GridDirectory& in) const;
  Result<KnownNames> NamesFrom(const GridDirectory& in, std::uint64_t from,
                               const DamageVisitor& damaged);
  void ForgetNames(const GridDirectory& in);
  Status ListNested(const GridDirectory& in, std::uint64_t cookie, const ListVisitor& visitor,
                    const DamageVisitor& damaged, const std::vector<GridDirectory>& others);
  Status ListFlat(std::uint64_t cookie, const ListVisitor& visitor, const DamageVisitor& damaged);
  Status ListAll(const GridDirectory& in, std::uint64_t cookie, const ListVisitor& visitor) const;
  // False: the visitor has ended the listing.
  bool Give(const GridDirectory& in, std::uint64_t number, const ListVisitor& visitor) const;

  const std::shared_ptr<ShardedTree> stored_;
  const std::shared_ptr<const ChunkMapping> mapping_;
  const ChunkGrid grid_;         // as names list its axes
  const ChunkGrid stored_grid_;  // as stored names do
  const std::unique_ptr<const ChunkNames> names_;
  const ZarrNames* const nested_;  // null where all names are in one directory
  const std::unique_ptr<PresentedChunks> chunks_;
  TranscodedChunks* const transcoded_;  // null where chunks are joined
  const std::vector<std::optional<std::size_t>> stored_axes_;
  std::vector<std::uint64_t> first_of_level_;  // position of the first directory of a level
  const bool lists_all_;
  const bool remote_;  // each request costs the way to the store
  const bool lossy_;
  const std::shared_ptr<const ChunkCheck> check_;
  std::mutex mutex_;
  std::vector<KnownNames> recent_;  // the latest last; guarded by mutex_
};

// Null where chunks are presented as they are stored.
inline std::shared_ptr<PresentedTree> AsPresented(const std::shared_ptr<ChunkTree>& tree) {
  return std::dynamic_pointer_cast<PresentedTree>(tree);
}

}  // namespace unshard
