// The parts of an array that are copied one after the other: its shards, or boxes of its chunks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "codec/pyramid/chunk_mapping.h"
#include "store/copy/chunk_source.h"

namespace unshard {

// All chunks of one shard that the array can have, or a box of unsharded ones.
struct CopyTask {
  std::uint64_t shard = 0;  // of sharded arrays
  std::vector<ShardSlot> slots;
  std::uint64_t cells = 0;  // of the grid, that are done with this task
};

// Used by one thread. Does no I/O.
class TaskWalk {
 public:
  virtual ~TaskWalk() = default;
  // The next task, in the order of the shards; nothing at the end. Every chunk of the array is in
  // one task.
  virtual std::optional<CopyTask> Next() = 0;
};

// Tasks are the shards of `to`. Holds the slots of one shard or, where a hash scatters chunk ids
// over all shards, of some.
std::unique_ptr<TaskWalk> WalkShards(const StoredArray& to, const ChunkGrid& grid);
// Tasks are boxes of chunks of `to` in which the shards of `from`, and chunks larger than those of
// `to`, lie whole, as far as that can be.
std::unique_ptr<TaskWalk> WalkBoxes(const ChunkMapping& mapping);

// The extents, in chunks of `to`, of the boxes that WalkBoxes takes.
std::vector<std::uint64_t> BoxShape(const ChunkMapping& mapping);

}  // namespace unshard
