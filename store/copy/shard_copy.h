// Copies one shard of the new array.
//
//   1. Plan which chunks the shard will have, and read the index of the shard that exists. If that
//      has these chunks, of these sizes as far as they are known, and was written no earlier than
//      what they are made from, compare the first and the last chunk, byte by byte: a shard that
//      passes is kept, unless the mode replaces it. Chunks that the source lacks are
//      counted, and looked at no further, unless they are to be removed; so are chunks that would
//      get the source's fill value, where the formats have different ones.
//   2. Where stored bytes are copied, their sizes are known: publish the shard, reading and
//      checking its chunks as they are written. Else make all chunks first, since only then it is
//      known which have nothing but the fill value, and publish the shard unless it is that
//      already.
//   3. The shard is published whole (store/publish/publisher.h), with its index read back. Chunks
//      that the source lacks stay in it, or are removed where the mode says so.
#pragma once

#include <memory>
#include <semaphore>
#include <string>
#include <vector>

#include "store/copy/chunk_maker.h"
#include "store/copy/copy_counters.h"
#include "store/copy/copy_mode.h"
#include "store/copy/limits.h"
#include "store/copy/staged_chunks.h"
#include "store/copy/task_walk.h"
#include "store/object/object_store.h"
#include "store/publish/publisher.h"

namespace unshard {

// Thread-safe.
class ShardCopy {
 public:
  struct Parts {
    std::shared_ptr<const ChunkMaker> maker;
    std::shared_ptr<ObjectStore> store;  // of the destination
    std::shared_ptr<ObjectReplacer> replacer;
    std::shared_ptr<FileSystem> files;  // null where the destination is remote
    std::shared_ptr<CopyCounters> counters;
    // Shared by all workers, and held while a shard is made: begins at limits.makers.
    std::shared_ptr<std::counting_semaphore<>> making;
    CopyMode mode;
  };
  ShardCopy(Parts parts, const CopyLimits& limits);

  // Fails naming the shard, or what of the source is damaged.
  Status Run(const CopyTask& task);

 private:
  struct Present;  // the shard that is there
  // Takes out of the plan what stays as it is although the source lacks it.
  Result<Present> ReadPresent(const CopyTask& task, const std::string& key, ChunkPlan& plan) const;
  Result<bool> Holds(const Present& present, const ChunkPlan& plan) const;
  Status CopyStored(const CopyTask& task, const std::string& key, const ChunkPlan& plan,
                    const Present& present);
  Result<std::vector<ShardChange>> MakeAll(const ChunkPlan& plan, StagedChunks& staged) const;
  Status CopyMade(const CopyTask& task, const std::string& key, const ChunkPlan& plan,
                  const Present& present);
  Status Publish(const CopyTask& task, const std::string& key, std::vector<ShardChange> changes,
                 const Present& present);
  Status Keep(const std::string& key, std::size_t chunks);
  void CountExtra(const Present& present) const;

  const Parts parts_;
  const CopyLimits limits_;
  ShardPublisher publisher_;
};

}  // namespace unshard
