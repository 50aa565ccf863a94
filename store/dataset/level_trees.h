// Trees over the arrays of a dataset as they are stored, sharded or not.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "codec/precomputed/info.h"
#include "codec/zarr3/metadata.h"
#include "store/chunks/sharded_tree.h"
#include "store/dataset/view_source.h"
#include "store/dataset/volume_options.h"
#include "store/object/change_watcher.h"

namespace unshard {

// Thread-safe.
class LevelTrees {
 public:
  struct Parts {
    std::shared_ptr<ObjectStore> store;
    std::shared_ptr<ChangeWatcher> watcher;  // null: nothing is watched
    std::shared_ptr<IndexCache> cache;
    std::shared_ptr<ChunkReader> reader;
    ShardSetOptions shards;
    MortonChoice morton = MortonChoice::kDetect;
    std::shared_ptr<const UnpublishedChunks> unpublished;  // of writable mounts, else null
    std::uint64_t max_chunk_bytes = 0;
  };
  explicit LevelTrees(Parts parts) : parts_(std::move(parts)) {}

  // The number of the next tree.
  std::uint32_t NextOrdinal() { return next_ordinal_.fetch_add(1); }
  // One array of a dataset. Fails, naming the JSON path, where its metadata cannot be used.
  Result<std::shared_ptr<ShardedTree>> Open(const ViewSource::Level& level,
                                            const ArrayMetadata& array);
  Result<std::shared_ptr<ShardedTree>> OpenPrecomputed(const std::string& directory,
                                                       const ShardedDirectory& sharded);
  std::shared_ptr<ShardedTree> OpenZarr(const std::string& directory,
                                        const ZarrShardedArray& array);

 private:
  std::shared_ptr<ShardSet> MakeShards(std::shared_ptr<ObjectStore> objects,
                                       const std::string& directory,
                                       std::shared_ptr<const ShardFormat> format,
                                       std::shared_ptr<const ShardKeys> keys);

  const Parts parts_;
  std::atomic<std::uint32_t> next_ordinal_{0};
};

}  // namespace unshard
