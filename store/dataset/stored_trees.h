// Opens the trees that chunks are stored as, and shares them between views.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "codec/array/array.h"
#include "codec/precomputed/info.h"
#include "codec/zarr3/document.h"
#include "store/chunks/sharded_tree.h"
#include "store/dataset/view_source.h"
#include "store/object/change_watcher.h"
#include "store/object/object_store.h"
#include "store/object/path_locks.h"
#include "store/source/volume_options.h"

namespace unshard {

// Thread-safe. Each tree that is opened gets a new number.
class StoredTrees {
 public:
  struct Parts {
    std::shared_ptr<ObjectStore> store;
    std::shared_ptr<ChangeWatcher> watcher;
    std::shared_ptr<IndexCache> cache;
    std::shared_ptr<ChunkReader> reader;
    std::shared_ptr<const UnpublishedChunks> unpublished;  // of writable mounts, else null
    ShardSetOptions shards;
    MortonChoice morton = MortonChoice::kDetect;
    std::uint64_t max_chunk_bytes = 0;
    bool shared = false;  // objects may be written by their own names in another view
  };
  explicit StoredTrees(Parts parts) : parts_(std::move(parts)) {}

  std::uint32_t NextOrdinal();
  // Each fails, naming the member of the document, where the layout is not known here.
  Result<std::shared_ptr<ShardedTree>> OpenPrecomputed(const std::string& directory,
                                                       const ShardedDirectory& sharded);
  Result<std::shared_ptr<ShardedTree>> OpenZarr(const std::string& path,
                                                const ZarrShardedArray& array);
  // Sharded or not.
  Result<std::shared_ptr<ShardedTree>> OpenLevel(const ViewSource::Level& level,
                                                 const Array& array);

  // What identifies a stored tree.
  struct StoredAs {
    std::string directory;
    std::string layout;         // what else a view depends on included
    std::string stored_layout;  // ViewSource::Level
  };
  using Make = std::function<Result<std::shared_ptr<ShardedTree>>()>;
  // The tree that another view has opened of the same and that has not retired; else what `make`
  // opens.
  Result<std::shared_ptr<ShardedTree>> Share(const StoredAs& stored, const Make& make);

 private:
  std::shared_ptr<ShardSet> MakeShards(const std::string& directory,
                                       std::shared_ptr<const ShardFormat> format,
                                       std::shared_ptr<const ShardKeys> keys);

  struct Shared {
    std::string layout;
    std::weak_ptr<ShardedTree> tree;
  };
  const Parts parts_;
  std::atomic<std::uint32_t> next_ordinal_{0};
  PathLocks sharing_;  // by directory
  std::mutex shared_mutex_;
  // By directory, which several scales may share. Guarded by shared_mutex_.
  std::map<std::string, std::vector<Shared>> shared_;
};

}  // namespace unshard
