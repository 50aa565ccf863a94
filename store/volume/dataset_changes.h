// Changes of whole datasets through a writable mount: the chunks that have to be removed before a
// document can be.
#pragma once

#include <memory>
#include <string>

#include "codec/grid/chunk_grid.h"
#include "codec/precomputed/merge.h"
#include "store/dataset/dataset_tree.h"
#include "store/volume/write_pipeline.h"

namespace unshard {

// Thread-safe. Each method first publishes what the spool holds for the trees that it changes or
// asks, and fails where that fails.
class DatasetChanges {
 public:
  // All outlive this object.
  DatasetChanges(ObjectStore& store, FileSystem& files, DatasetTree& datasets,
                 WritePipeline& writes)
      : store_(store), files_(files), datasets_(datasets), writes_(writes) {}

  // Whether a shard of the tree has a chunk.
  Result<bool> Holds(ShardedTree& tree);
  // The same of the trees of the document in `directory` that are rooted in a directory below it.
  [[nodiscard]] HoldsChunks InDirectoriesBelow(const std::string& directory);
  // Removes a document whose trees hold nothing, with the directories that only their shards were
  // in. EPERM, and nothing happens, where one of them holds a chunk.
  Status RemoveDocument(const std::string& directory, const std::string& name);
  // Before the array in `directory` gets another shape: removes the chunks that are outside of it.
  Status RemoveOutside(const std::string& directory, const std::string& stored,
                       const std::string& wanted);
  // After an array has got another shape: what was committed meanwhile waits in its new tree.
  void LeaveRetired(const std::vector<std::shared_ptr<ShardedTree>>& trees);
  // The trees of the documents in `directory` that are served.
  [[nodiscard]] std::vector<std::shared_ptr<ShardedTree>> TreesOf(
      const std::string& directory) const;

 private:
  Result<bool> HoldsChunk(ShardedTree& tree, std::uint64_t shard);
  Status RemoveIfEmpty(const std::string& directory);
  Status RemoveLeftovers(ShardedTree& tree, const std::string& below);
  Status RemoveOutside(const std::shared_ptr<ShardedTree>& tree, const ZarrShardedArray& array,
                       const ChunkGrid& wanted, std::uint64_t shard);

  ObjectStore& store_;
  FileSystem& files_;
  DatasetTree& datasets_;
  WritePipeline& writes_;
};

}  // namespace unshard
