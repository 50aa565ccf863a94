// Where in the source the datasets are: which directories hold shards, and which metadata documents
// are shown rewritten.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "codec/neuroglancer_info.h"
#include "codec/zarr_metadata.h"
#include "fs/chunk_tree.h"
#include "fs/mount_options.h"
#include "fs/paths.h"
#include "store/change_watcher.h"
#include "store/kv_store.h"

namespace unshard {

inline constexpr std::string_view kZarrDocument = "zarr.json";

// A metadata document as the mount shows it.
struct Document {
  std::string name;  // "info" or "zarr.json"
  std::shared_ptr<const std::string> text;
  ObjectInfo source;
};

// What is special about one directory of the source. Immutable.
struct DirectoryOverlay {
  std::optional<Document> document;
  std::vector<std::shared_ptr<ChunkTree>> trees;  // rooted here
  std::set<std::string> virtual_children;         // subdirectories that need not exist in the store
  bool opaque = false;                            // nothing below is a dataset: never searched
  bool holds_plain_chunks = false;                // unsharded chunk files stand here as well
  std::optional<Error> fault;  // the dataset here is broken; its files answer EIO
};

// What was found, for people and programs.
struct FoundDataset {
  std::string path;         // directory below the source, "" for the source itself
  std::string format;       // "precomputed volume", "zarr v3 array", "zarr v2 array", "n5 dataset"
  std::string description;  // "uint64 [512, 512, 64], chunks [64, 64, 64], …"
  std::shared_ptr<ChunkTree> tree;  // null where nothing is sharded
  std::optional<Error> fault;
  // Of arrays; empty for everything else.
  std::string data_type;
  std::string encoding;
  std::vector<std::uint64_t> shape, chunk_shape, shard_shape;
};

struct DatasetTreeOptions {
  MortonChoice morton = MortonChoice::kDetect;
  ShardSetOptions shards;
  std::shared_ptr<const UnpublishedChunks> unpublished;  // of writable mounts, else null
  std::size_t max_directories = 4096;  // searched ahead; others when they are first looked up
};

// Thread-safe. No lock is held across I/O.
class DatasetTree {
 public:
  DatasetTree(std::shared_ptr<KvStore> store, std::shared_ptr<ChangeWatcher> watcher,
              std::shared_ptr<IndexCache> cache, const DatasetTreeOptions& options);

  // Searches the source. Fails, naming file and field, where the source itself is a dataset that is
  // broken, or where no dataset is found (the message says what was looked for).
  Status Discover();

  // What is special about `path`; null where nothing is. Looks into a directory that the search has
  // not reached, and again at a document that was broken and has changed.
  std::shared_ptr<const DirectoryOverlay> Find(const std::string& path);
  // Whether a `zarr.json` in `path` is, or would be, a group's that is shown as it is stored: not
  // where an array or a precomputed dataset has the directory, or one above it, to itself.
  bool HoldsPlainGroup(const std::string& path);
  // Reads the metadata in `path` again after a change. True where the trees are other ones now.
  bool Reload(const std::string& path);

  [[nodiscard]] std::shared_ptr<ChunkTree> TreeAt(std::uint32_t ordinal) const;
  [[nodiscard]] std::vector<std::shared_ptr<ChunkTree>> trees() const;
  [[nodiscard]] std::vector<FoundDataset> found() const;

 private:
  // What one metadata document puts into the tree.
  struct Contribution {
    std::map<std::string, DirectoryOverlay> overlays;
    std::vector<FoundDataset> found;
    std::string structure;  // equal where a reload can keep the trees
  };

  static bool HasFault(const Contribution& contribution);
  std::shared_ptr<const Contribution> ContributionAt(const std::string& path) const;
  static void KeepTrees(const Contribution& before, Contribution& after);
  // What was read at `path` last, if it was a dataset without a fault.
  std::shared_ptr<const Contribution> GoodBefore(const std::string& path) const;
  // Reads the metadata in `path`. A document that has become broken changes nothing.
  std::shared_ptr<const Contribution> Examine(const std::string& path);
  // True where `document` of the directory `path` has been replaced, changed or removed.
  [[nodiscard]] bool IsAnotherVersion(const std::string& path, const Document& document) const;
  Status ReadPrecomputed(const std::string& path, const WholeObject& object, Contribution& to);
  Status ReadZarr(const std::string& path, const WholeObject& object, Contribution& to);
  void ReadOther(const std::string& path, Contribution& to);
  Result<std::shared_ptr<ChunkTree>> OpenPrecomputed(const std::string& directory,
                                                     const ShardedDirectory& sharded);
  std::shared_ptr<ShardSet> MakeShards(const std::string& directory,
                                       std::shared_ptr<const ShardFormat> format,
                                       std::shared_ptr<const ShardKeys> keys);
  std::uint32_t NextOrdinal();
  void Register(const std::shared_ptr<ChunkTree>& tree);
  void Publish(const std::string& path, std::shared_ptr<const Contribution> contribution);
  // Lets go of trees that no overlay has any more, but for the latest kRetiredTrees: who has an old
  // chunk open may go on reading it.
  void RetireTrees();
  [[nodiscard]] bool IsBelowOpaque(const std::string& path) const;

  static constexpr std::size_t kRetiredTrees = 64;

  const std::shared_ptr<KvStore> store_;
  const std::shared_ptr<ChangeWatcher> watcher_;
  const std::shared_ptr<IndexCache> cache_;
  const DatasetTreeOptions options_;
  std::atomic<std::uint32_t> next_ordinal_{0};

  mutable std::shared_mutex mutex_;
  std::map<std::string, std::shared_ptr<const Contribution>> contributions_;  // guarded
  std::map<std::string, std::shared_ptr<const DirectoryOverlay>> overlays_;   // guarded
  std::map<std::uint32_t, std::shared_ptr<ChunkTree>> trees_;                 // guarded
};

}  // namespace unshard
