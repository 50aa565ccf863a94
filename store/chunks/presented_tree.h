// The tree of an array as a view presents it: its own names, the chunks of a stored tree.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codec/pyramid/chunk_conversion.h"
#include "codec/zarr3/chunk_names.h"
#include "store/chunks/chunk_tree.h"
#include "store/chunks/committed_versions.h"
#include "store/chunks/presented_chunks.h"
#include "store/chunks/sharded_tree.h"
#include "store/chunks/transcoded_chunks.h"
#include "store/object/object_store.h"

namespace unshard {

// References to chunks are those of the stored tree. Listings have the chunks that are present and
// all directories of the grid, on writable mounts only those that hold chunks, so that a tree can
// be removed; those of a store that cannot list, and views that present absent chunks, have all
// chunks of the grid. A remote store is asked for several index pages at a time. Immutable but for
// caches; thread-safe.
class PresentedTree final : public ChunkTree {
 public:
  struct Parts {
    std::uint32_t ordinal = 0;
    std::string directory;  // where the view has it
    std::shared_ptr<ShardedTree> stored;
    std::shared_ptr<const ChunkConversion> conversion;
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
  [[nodiscard]] bool presents_absent() const { return conversion_->presents_absent(); }
  [[nodiscard]] PresentedChunks& presented() { return *chunks_; }
  // Requires: a tree that does not join.
  [[nodiscard]] TranscodedChunks& transcoded() { return *transcoded_; }
  [[nodiscard]] bool joins() const override { return conversion_->joins(); }
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
  class Presence;

  PresentedTree(Parts parts, ChunkGrid grid);
  static std::unique_ptr<PresentedChunks> MakeChunks(const Parts& parts);

  // The numbers of a directory's names, as the indices of the grid that follow those of its path;
  // in one directory all cells, in C order.
  [[nodiscard]] std::uint64_t NameCount(const GridDirectory& in) const;
  [[nodiscard]] Match NameAt(const GridDirectory& in, std::uint64_t number) const;
  // Loads what the listing of a directory needs to know of its names from `first` on, several pages
  // at a time, where each costs the way to a remote store. Returns the first name after those.
  std::uint64_t LoadFrom(const GridDirectory& in, std::uint64_t first, std::uint64_t count) const;
  std::uint64_t LoadPagesFrom(const GridDirectory& in, std::uint64_t first,
                              std::uint64_t count) const;
  // Whether a directory holds a chunk, at any depth, as far as looking at `probes` tells.
  bool HoldsAny(const GridDirectory& in, Presence& presence, std::uint64_t& probes) const;

  const std::shared_ptr<ShardedTree> stored_;
  const std::shared_ptr<const ChunkConversion> conversion_;
  const ChunkGrid grid_;  // as names list its axes
  const std::unique_ptr<const ChunkNames> names_;
  const ZarrNames* const nested_;  // null where all names are in one directory
  const std::unique_ptr<PresentedChunks> chunks_;
  TranscodedChunks* const transcoded_;         // null where the conversion joins
  std::vector<std::uint64_t> first_of_level_;  // position of the first directory of a level
  const bool lists_all_;
  const bool remote_;  // each request costs the way to the store
  const bool writable_;
  const bool lossy_;
  const std::shared_ptr<const ChunkCheck> check_;
};

// Null where chunks are presented as they are stored.
inline std::shared_ptr<PresentedTree> AsPresented(const std::shared_ptr<ChunkTree>& tree) {
  return std::dynamic_pointer_cast<PresentedTree>(tree);
}

}  // namespace unshard
