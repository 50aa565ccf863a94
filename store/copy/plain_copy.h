// Copies chunks into an unsharded array, where each is an object of its own.
#pragma once

#include <functional>
#include <memory>

#include "store/copy/chunk_files.h"
#include "store/copy/chunk_maker.h"
#include "store/copy/copy_counters.h"
#include "store/copy/copy_mode.h"
#include "store/copy/limits.h"
#include "store/copy/task_walk.h"

namespace unshard {

// Used by one thread.
class PlainCopy {
 public:
  struct Parts {
    std::shared_ptr<const ChunkMaker> maker;
    std::unique_ptr<ChunkFiles> files;
    std::shared_ptr<CopyCounters> counters;
    // Whether the array had no chunk when the copy began: none is looked for.
    bool was_empty = false;
    CopyMode mode;
  };
  PlainCopy(Parts parts, const CopyLimits& limits) : parts_(std::move(parts)), limits_(limits) {}

  // Chunks that are there, of their size where that is known, and written no earlier than what they
  // are made from, are kept, unless the mode replaces them. Those that the source lacks are
  // counted, and removed where the mode says so. Fails naming the chunk.
  Status Run(const CopyTask& task);
  // Once after all tasks.
  Status Finish() { return parts_.files->Finish(); }

 private:
  [[nodiscard]] std::string KeyOf(const ShardSlot& slot) const;
  [[nodiscard]] bool IsMadeAnew(const ChunkPlan::Made& made) const;
  Status KeepPresent(const CopyTask& task, ChunkPlan& plan);
  Status Put(const ChunkPlan& plan, std::size_t first, std::size_t count);

  const Parts parts_;
  const CopyLimits limits_;
};

}  // namespace unshard
