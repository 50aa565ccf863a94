// The datasets that have been found in the source so far: the overlay of each directory, and all
// chunk trees by number and by directory. Changes and look-ups take logarithmic time in the number
// of datasets.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "store/chunks/sharded_tree.h"
#include "store/object/object_store.h"

namespace unshard {

// A metadata document as the mount shows it.
struct Document {
  std::string name;  // "info", "zarr.json", ".zarray", …
  std::shared_ptr<const std::string> text;
  ObjectInfo source;  // the document of the source that it is made of
  // Of a directory that may have a document of its own, which is shown in its place.
  bool is_fallback = false;
};

// How one directory is presented where that differs from the source. Immutable.
struct DirectoryOverlay {
  std::optional<Document> document;
  std::vector<std::shared_ptr<ChunkTree>> trees;  // rooted here
  // Subdirectories that lead from a document to the trees that it names, and need not exist.
  std::set<std::string> virtual_children;
  // Documents that a view computes. Where there are any, those of the source are hidden.
  std::vector<Document> computed;
  // Names of the source that are hidden, unless they are among `virtual_children`; where it is
  // closed, all are.
  std::set<std::string> hidden;
  bool closed = false;
  bool opaque = false;              // nothing below is a dataset: never searched
  bool holds_plain_chunks = false;  // unsharded chunk files are here as well
  std::optional<Error> fault;       // the dataset here is broken; its files answer EIO

  [[nodiscard]] bool Hides(const std::string& name) const {
    return (closed || hidden.contains(name)) && !virtual_children.contains(name);
  }
  // Null where the view computes no such document.
  [[nodiscard]] const Document* FindComputed(std::string_view name) const;
};

// A dataset as `unshard info` and status.json describe it.
struct FoundDataset {
  std::string path;         // directory below the source, "" for the source itself
  std::string format;       // "precomputed volume", "zarr v3 array", "zarr v2 array", "n5 dataset"
  std::string description;  // "uint64 [512, 512, 64], chunks [64, 64, 64], …"
  std::shared_ptr<ShardedTree> tree;  // null where nothing is sharded
  std::optional<Error> fault;
  // Of arrays; empty for everything else.
  std::string data_type;
  std::string encoding;
  std::vector<std::uint64_t> shape, chunk_shape, shard_shape;
};

// A chunk tree as it is presented, the stored tree that it comes from (the same tree, if chunks are
// presented as they are stored), and the part of its metadata that decides how its chunks are
// stored.
struct ServedTree {
  std::shared_ptr<ChunkTree> tree;
  std::shared_ptr<ShardedTree> stored;
  std::string layout;  // JSON: both trees stay as long as that means the same
};

// What the metadata documents of one directory contribute to the index. Immutable after Put().
struct Contribution {
  std::map<std::string, DirectoryOverlay> overlays;
  std::vector<FoundDataset> found;
  std::vector<ServedTree> trees;
  std::map<std::string, ObjectInfo> documents;  // by name: the versions that were read
  // The parts of the documents on which the names and bytes of chunks depend: the kernel is
  // notified of them only where this has changed.
  std::string structure;

  [[nodiscard]] bool has_fault() const;
};

// Thread-safe; does no I/O.
class DatasetIndex {
 public:
  // Null where the directory has not been examined.
  [[nodiscard]] std::shared_ptr<const Contribution> ContributionAt(const std::string& path) const;
  // Null where the directory is presented as it is in the source.
  [[nodiscard]] std::shared_ptr<const DirectoryOverlay> OverlayAt(const std::string& path) const;
  // Whether a directory above `path` is opaque.
  [[nodiscard]] bool IsBelowOpaque(const std::string& path) const;

  // Whether `path` is a directory of the chunks of a tree that is presented above it.
  [[nodiscard]] bool IsInTree(const std::string& path) const;

  // Replaces the contribution of `path`. Trees that are no longer served retire: the latest
  // kRetiredTrees can still be found by their number, for readers that have an old chunk open.
  void Put(const std::string& path, std::shared_ptr<Contribution> contribution);

  // All directories that have been examined.
  [[nodiscard]] std::vector<std::string> examined() const;

  // A tree that nothing presents, of a dataset that is described at `home`: chunks of it wait in a
  // spool.
  void PutStored(const std::shared_ptr<ShardedTree>& tree, const std::string& home);

  // Retired trees included, and those that are only stored.
  [[nodiscard]] std::shared_ptr<ChunkTree> TreeAt(std::uint32_t ordinal) const;
  // Those that are served, as their chunks are stored, in this directory of the store.
  [[nodiscard]] std::vector<std::shared_ptr<ShardedTree>> StoredIn(
      const std::string& directory) const;
  // All trees that are presented.
  [[nodiscard]] std::vector<std::shared_ptr<ChunkTree>> trees() const;
  // Those rooted at `key`, above or below it.
  [[nodiscard]] std::vector<std::shared_ptr<ChunkTree>> TreesNear(const std::string& key) const;
  // The tree, of those that are presented, whose chunks are stored in this directory; of several
  // the first. Its `layout` is empty. Nothing where there is none.
  [[nodiscard]] std::optional<ServedTree> ServedIn(const std::string& directory) const;
  // Whether a tree that is served is rooted at `path` or below it.
  [[nodiscard]] bool ServesTreesIn(const std::string& path) const;
  // The directory of the document that a tree comes from; nothing where it retired long ago.
  [[nodiscard]] std::optional<std::string> HomeOf(const ChunkTree& tree) const;
  // The tree that is served where a retired one was, if chunks of one name are stored alike in
  // both; else null.
  [[nodiscard]] std::shared_ptr<ChunkTree> SuccessorOf(const ChunkTree& tree) const;
  [[nodiscard]] std::vector<FoundDataset> found() const;
  // The paths of all arrays and scales without a fault, of a directory and below it; sorted.
  [[nodiscard]] std::vector<std::string> ArraysIn(const std::string& directory) const;
  [[nodiscard]] bool HasArray(const std::string& path) const;
  // Whether there are any below it.
  [[nodiscard]] bool HasArraysBelow(const std::string& directory) const;

 private:
  struct Registered {
    std::shared_ptr<ChunkTree> tree;
    std::shared_ptr<ShardedTree> stored;  // what it comes from, or itself
    std::string home;
    std::string stored_in;  // the directory of its chunks in the store
    bool presented = true;  // false: only others that come from it are
    // Contributions that serve it: that of `home`, and others where several views present it.
    std::set<std::string> served_by;
  };
  void Register(const std::shared_ptr<ChunkTree>& tree, const ServedTree& served,
                const std::string& home);
  void PutOverlay(const std::string& at);
  // Counts the arrays of a contribution that begins to be there, or no longer is.
  void CountArrays(const Contribution& contribution, bool is_added);
  // A contribution no longer serves the tree; the last one retires it.
  void Drop(const std::shared_ptr<ChunkTree>& tree, const std::string& path,
            std::vector<std::shared_ptr<ChunkTree>>& released);
  void Retire(const std::shared_ptr<ChunkTree>& tree,
              std::vector<std::shared_ptr<ChunkTree>>& released);

  static constexpr std::size_t kRetiredTrees = 64;

  mutable std::shared_mutex mutex_;
  // All guarded by mutex_.
  std::map<std::string, std::shared_ptr<const Contribution>> contributions_;
  std::map<std::string, std::set<std::string>> contributors_;  // to each overlay; none is empty
  std::map<std::string, std::shared_ptr<const DirectoryOverlay>> overlays_;
  std::map<std::uint32_t, Registered> trees_;
  std::set<std::pair<std::string, std::uint32_t>> by_directory_;  // of all that are presented
  // Of those as which chunks are stored.
  std::set<std::pair<std::string, std::uint32_t>> stored_in_;
  std::deque<std::uint32_t> retired_;  // in trees_, oldest first
  // The paths of arrays, and how many contributions have each.
  std::map<std::string, std::size_t> arrays_;
};

// Adds the directories between `path`, which holds the document, and the trees that it names to the
// overlays of `contribution`.
void AddVirtualChildren(const std::string& path, Contribution& contribution);

}  // namespace unshard
