// Where in the source the datasets are: which directories hold shards, and which metadata documents
// are shown rewritten.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/precomputed/info.h"
#include "codec/zarr3/document.h"
#include "store/chunks/sharded_tree.h"
#include "store/dataset/dataset_index.h"
#include "store/dataset/directory_documents.h"
#include "store/dataset/document_freshness.h"
#include "store/dataset/stored_trees.h"
#include "store/dataset/view_source.h"
#include "store/object/change_watcher.h"
#include "store/object/key.h"
#include "store/object/lasting_warnings.h"
#include "store/object/object_store.h"
#include "store/object/path_locks.h"
#include "store/source/catalog_store.h"
#include "store/source/document_names.h"
#include "store/source/volume_options.h"
#include "store/source/writable_views.h"
#include "store/views/views.h"

namespace unshard {

struct DatasetTreeOptions {
  MortonChoice morton = MortonChoice::kDetect;
  ShardSetOptions shards;
  std::shared_ptr<CommittedVersions> written;  // of writable mounts, else null
  const View* view = &NativeView();  // null: that of the directory's first component, all_views.h
  std::shared_ptr<ByteBudgetCache> encoded;  // the chunks that views have encoded
  std::uint64_t max_chunk_bytes = 0;         // of the voxels of one chunk that a view encodes
  ViewOptions view_options;
  bool lossy = false;  // views may be written where that loses
  // Of a store that cannot list, else null.
  std::shared_ptr<CatalogStore> catalog;
  // Directories that Discover() examines; others are examined when they are first looked up.
  std::size_t max_directories = kSearchedAhead;
};

// Thread-safe. Across I/O only the lock of the directory is held whose documents are being read.
class DatasetTree {
 public:
  DatasetTree(std::shared_ptr<ObjectStore> store, std::shared_ptr<ChangeWatcher> watcher,
              std::shared_ptr<IndexCache> cache, std::shared_ptr<ChunkReader> reader,
              const DatasetTreeOptions& options);

  // Searches the source. Fails, naming file and field, where the source itself is a dataset that is
  // broken, or where it was searched to its end and no dataset is there (the message names the
  // documents that were searched for).
  Status Discover();

  // Which views of all present nothing of the source, and why; after Discover().
  [[nodiscard]] const std::map<std::string, Error>& refused_views() const { return refused_; }

  // How `path` is presented; null where that is as in the source. Examines a directory that the
  // search has not reached, and reads a document again that was broken and has changed.
  std::shared_ptr<const DirectoryOverlay> Find(const std::string& path);
  // Whether the file at `path` is, or would be, the document of a dataset that is shown as it is
  // stored: not where another one has the directory, or one above it, to itself.
  bool HoldsPlainDocument(const std::string& path);
  // Whether the file `name` in `path` is there, and was read as such.
  bool HasPlainDocument(const std::string& path, std::string_view name);

  // Reads the metadata in a directory again after a change. Trees that other ones replace retire
  // (ChunkTree::retired); trees whose chunks are stored as before stay. False where they could not
  // be read for a reason that may pass: what was known before stands until they can.
  bool Reload(const std::string& directory);
  // Whether a Reload since the last call has found that the metadata in `path` have changed: the
  // caller has to notify the kernel.
  bool TakeChange(const std::string& path);
  // Whether chunks can still be published into a tree: revalidates its metadata, and reads them
  // again where they have changed. False where it has retired. Fails where the metadata cannot be
  // read at the moment.
  Result<bool> Serves(const ChunkTree& tree);

  // The trees that chunks in this directory of the store are stored as, whether or not the view
  // presents them: also those of an unsharded array.
  std::vector<std::shared_ptr<ShardedTree>> StoredIn(const std::string& directory);

  // The following are those of DatasetIndex.
  [[nodiscard]] std::shared_ptr<ChunkTree> TreeAt(std::uint32_t ordinal) const {
    return index_.TreeAt(ordinal);
  }
  [[nodiscard]] std::vector<std::shared_ptr<ChunkTree>> trees() const { return index_.trees(); }
  [[nodiscard]] std::vector<FoundDataset> found() const { return index_.found(); }
  [[nodiscard]] const DatasetIndex& index() const { return index_; }
  // Whether `path` is in a view beside that of the shards, whose documents are changed there.
  [[nodiscard]] bool IsBesideShards(const std::string& path) const {
    return shares_trees() && SplitView(path).view != kViewOfShards;
  }

 private:
  using ContributionPtr = std::shared_ptr<const Contribution>;

  // What was read at `path` last, if it was a dataset without a fault.
  ContributionPtr GoodBefore(const std::string& path) const;
  // Reads the metadata in `path`. A document that has become broken changes nothing. Of two threads
  // the later one begins to read after the earlier one has put its result, which it replaces: the
  // metadata that are served are never older than the last call.
  // kSearch: the directory may never be used, so that it is not watched where it has no documents.
  enum class Reason { kSearch, kUse };
  ContributionPtr Examine(const std::string& path, Reason reason);
  // The same, unless another thread has done so before this one came to it.
  void ExamineOnce(const std::string& path);
  ContributionPtr ExamineLocked(const std::string& path, Reason reason);
  // The same, if it was read before and is good no longer.
  void Revalidate(const std::string& path);
  ContributionPtr PutExamined(const std::string& path, const DocumentFreshness::Seen& seen,
                              std::shared_ptr<Contribution> contribution);
  void NoteChange(const std::string& directory, const ContributionPtr& before,
                  const ContributionPtr& after);
  // The dataset, which is described by the file `name` in `path`, is broken.
  void AddFault(const std::string& path, const std::string& name, const ObjectInfo& source,
                const Error& error, Contribution& to) const;
  void AddViewFault(const std::string& path, const Error& error, Contribution& to) const;
  // What was found becomes names of the catalog.
  void AddToCatalog(const std::string& path, const Contribution& contribution);
  // Whether all documents of a directory that was examined are those that were read.
  [[nodiscard]] Result<bool> IsUpToDate(const std::string& path) const;
  [[nodiscard]] const View& ViewAt(const std::string& path) const;
  // Where the view of a path begins.
  [[nodiscard]] std::string ViewRootOf(const std::string& path) const;
  // Whether the view presents the dataset in their directory as the native one does.
  [[nodiscard]] bool PresentsAsStored(DirectoryDocuments& documents) const;
  // The directory with whose documents those in `path` are read.
  [[nodiscard]] std::string OwnerOf(const std::string& path) const;
  [[nodiscard]] bool IsLevel(const std::string& path) const;
  // False: there is nothing that the view presents in another form.
  Result<bool> ReadForView(DirectoryDocuments& documents, Contribution& to);
  Status ReadPrecomputed(const std::string& path, const WholeObject& object, Contribution& to);
  Status ReadZarr(const std::string& path, const WholeObject& object, Contribution& to);
  // The stored tree of `before` whose chunks are stored just like this layout says, else a new one.
  // Where several views are written, that which another view has: chunks of all views meet in it.
  Result<std::shared_ptr<ShardedTree>> KeepOrMake(const ContributionPtr& before,
                                                  const StoredTrees::StoredAs& stored,
                                                  const StoredTrees::Make& make);
  // The tree as another view than that of the shards presents it.
  std::shared_ptr<ChunkTree> AliasIn(const std::string& view,
                                     const std::shared_ptr<ShardedTree>& stored);
  // The directory of the store in which all views have the chunks of this one.
  [[nodiscard]] std::string StoredDirectory(const std::string& directory) const;
  // Whether views that are written stand side by side.
  [[nodiscard]] bool shares_trees() const {
    return options_.view == nullptr && options_.written != nullptr;
  }
  // Puts the dataset into `to` as the view presents it. Trees of the view stay as long as those
  // that they come from. `layouts`: of `dataset.arrays`.
  Status Present(const StoredDataset& dataset, const std::vector<std::string>& layouts,
                 const WholeObject& object, Contribution& to);

  const std::shared_ptr<ObjectStore> store_;
  const std::shared_ptr<ChangeWatcher> watcher_;
  const DatasetTreeOptions options_;
  DocumentFreshness freshness_;
  LastingWarnings warnings_;  // by directory
  StoredTrees stored_;
  const TreeParts tree_parts_;
  std::map<std::string, Error> refused_;  // constant once Discover() has returned
  PathLocks examining_;                   // by directory
  DatasetIndex index_;
  std::mutex changed_mutex_;
  std::set<std::string> changed_;  // guarded by changed_mutex_
};

}  // namespace unshard
