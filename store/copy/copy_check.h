// Compares a copy with its source, chunk by chunk.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "store/copy/chunk_maker.h"
#include "store/copy/chunk_source.h"
#include "store/copy/copy_counters.h"
#include "store/copy/task_walk.h"

namespace unshard {

// Thread-safe.
class CopyCheck {
 public:
  // `written`: the chunks of the destination, as they are stored. Counts the chunks that are stored
  // there, and their bytes.
  CopyCheck(std::shared_ptr<const ChunkMaker> maker, std::shared_ptr<const ChunkSource> written,
            std::shared_ptr<CopyCounters> counters)
      : maker_(std::move(maker)), written_(std::move(written)), counters_(std::move(counters)) {}

  // Makes the chunks of the task once more, and compares them with those that are stored: byte by
  // byte and, since others may have encoded them, voxel by voxel. What is stored where the source
  // has nothing has to be as if it were absent. Fails with kDataLoss, naming the chunk, its shard
  // and what to do, where one differs or cannot be decoded.
  Status Run(const CopyTask& task) const;

 private:
  using Stored = std::optional<ChunkSource::Chunk>;
  Status CompareBatch(const ChunkPlan& plan, std::size_t first, std::size_t count,
                      const std::vector<Stored>& stored) const;
  Status Compare(const GridCell& cell, const std::optional<Bytes>& made,
                 const std::optional<Bytes>& stored) const;
  [[nodiscard]] std::string Remedy() const;
  [[nodiscard]] Result<Voxels> VoxelsOf(const GridCell& cell, const Bytes& stored) const;

  const std::shared_ptr<const ChunkMaker> maker_;
  const std::shared_ptr<const ChunkSource> written_;
  const std::shared_ptr<CopyCounters> counters_;
};

}  // namespace unshard
