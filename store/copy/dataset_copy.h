// Copies a dataset into another one that is there: an array, or all levels of a pyramid, whatever
// the formats, the shards and the places of the two; of a group, all datasets in it, each to its
// path. fs/SEMANTICS.md, "Copying".
#pragma once

#include <functional>
#include <memory>
#include <semaphore>
#include <vector>

#include "store/copy/chunk_files.h"
#include "store/copy/chunk_maker.h"
#include "store/copy/copy_counters.h"
#include "store/copy/limits.h"
#include "store/copy/opened_dataset.h"
#include "store/copy/task_walk.h"

namespace unshard {

class DatasetCopy {
 public:
  // Opens both, and compares them: nothing is written. Fails with kInvalidArgument, naming what
  // differs, where the destination lacks a dataset, has another number of levels, another shape or
  // data type; and naming the codec where its chunks cannot be written.
  static Result<std::unique_ptr<DatasetCopy>> Open(const VolumeOptions& source,
                                                   const VolumeOptions& destination);

  // Returns once every chunk is in the destination, durably. After a failure, and after the process
  // has ended, all shards are whole or as they were; another call goes on from there. Starts
  // threads. Once.
  Status Run();
  // Reads every chunk of both, and compares their voxels. Fails with kDataLoss, naming the chunk
  // and its first voxel that differs. Counts what it has compared. Once, in place of Run().
  Status Verify();
  // While Run() runs, from any thread.
  [[nodiscard]] const CopyCounters& counters() const { return *counters_; }

 private:
  struct Level {
    StoredArray to;
    std::shared_ptr<const ArrayCopy> copy;
    std::shared_ptr<const ChunkSource> source;
  };
  DatasetCopy(OpenedDataset source, OpenedDataset destination, const CopyLimits& limits);

  // Numbers count the datasets of the source, and the levels of one.
  Status AddDataset(std::size_t number);
  Status AddLevel(std::size_t dataset, std::size_t number);
  Status CanWrite(const Level& level) const;
  Status CopyLevel(const Level& level);
  Status VerifyLevel(const Level& level);
  Result<bool> IsEmpty(const Level& level) const;
  // What one worker does with each task, and at its end.
  struct Worker {
    std::function<Status(const CopyTask&)> run;
    std::function<Status()> finish;
  };
  Status WorkThrough(const Level& level, const std::function<Result<Worker>()>& make_worker);
  [[nodiscard]] std::shared_ptr<const ChunkMaker> MakerOf(const Level& level) const;
  Result<Worker> MakeWorker(const Level& level, const std::shared_ptr<const ChunkMaker>& maker,
                            bool was_empty);

  const OpenedDataset source_;
  const OpenedDataset destination_;
  const CopyLimits limits_;
  const std::shared_ptr<CopyCounters> counters_ = std::make_shared<CopyCounters>();
  const std::shared_ptr<ByteBudgetCache> decoded_;
  const std::shared_ptr<std::counting_semaphore<>> making_;
  std::vector<Level> levels_;
  std::shared_ptr<CopyScratch> scratch_;  // null until an unsharded level needs it
};

// What fits this machine, and stores that answer at once or only after a while.
CopyLimits ChooseLimits(bool source_is_remote, bool destination_is_remote);

}  // namespace unshard
