// Copies a dataset into another that exists already: an array, or all levels of a pyramid, whatever
// the formats, the shards and the places of the two; all datasets in a group, and beside the levels
// of a pyramid, and the files there, each to its path. fs/SEMANTICS.md, "Copies".
#pragma once

#include <functional>
#include <memory>
#include <semaphore>
#include <vector>

#include "store/copy/chunk_files.h"
#include "store/copy/chunk_maker.h"
#include "store/copy/copy_counters.h"
#include "store/copy/copy_mode.h"
#include "store/copy/copy_places.h"
#include "store/copy/file_copy.h"
#include "store/copy/limits.h"
#include "store/copy/opened_dataset.h"
#include "store/copy/present_chunks.h"
#include "store/copy/task_walk.h"

namespace unshard {

class DatasetCopy {
 public:
  // Where the mode only reads, Run() may not be called. Opens the destination, and compares both:
  // nothing is written. Fails with kInvalidArgument, naming what differs, where the destination
  // lacks a dataset, has another number of levels, another shape or data type, or has levels where
  // other members of the source belong; and naming the codec where its chunks cannot be written.
  static Result<std::unique_ptr<DatasetCopy>> Open(std::shared_ptr<const OpenedDataset> source,
                                                   VolumeOptions destination,
                                                   const CopyLimits& limits, CopyMode mode);

  // Returns once every chunk and file is in the destination, durably. After a failure, and after
  // the process has ended, all shards and files are whole or as they were; another call goes on
  // from there. What the format of the destination cannot hold is left out, with a line in the log.
  // Starts threads. Once.
  Status Run();
  // Reads every chunk of both, and compares their voxels, and the bytes of files. Fails with
  // kDataLoss, naming the chunk and its first voxel that differs, or the file, and what to do.
  // Counts what it has compared. Once, in place of Run().
  Status Verify();
  // Counts what the destination has, as far as that can be listed soon, and with
  // `counts_extra` how many of its chunks the source lacks. Before Run().
  [[nodiscard]] Result<PresentChunks> CountPresent(bool counts_extra) const;
  // The arrays of both, level by level.
  struct Pair {
    std::string path;  // of the destination, as messages name it
    const Array& from;
    const Array& to;
  };
  [[nodiscard]] std::vector<Pair> Pairs() const;
  // While Run() runs, from any thread.
  [[nodiscard]] const CopyCounters& counters() const { return *counters_; }

 private:
  struct Level {
    StoredArray to;
    std::shared_ptr<const ChunkMapping> mapping;
    std::shared_ptr<const ChunkSource> source;
  };
  DatasetCopy(std::shared_ptr<const OpenedDataset> source, OpenedDataset destination,
              const CopyLimits& limits, CopyMode mode);

  // Numbers count the datasets of the source, and the levels of one.
  Status AddDataset(std::size_t number);
  Status AddLevel(std::size_t dataset, std::size_t number);
  Status CanWrite(const Level& level) const;
  Status CopyLevel(const Level& level);
  Status VerifyLevel(const Level& level);
  [[nodiscard]] FileCopy MakeFileCopy() const;
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

  const std::shared_ptr<const OpenedDataset> source_;
  const OpenedDataset destination_;
  const FormatsByPath formats_;  // of the destination
  const CopyLimits limits_;
  const CopyMode mode_;
  const std::shared_ptr<CopyCounters> counters_ = std::make_shared<CopyCounters>();
  const std::shared_ptr<ByteBudgetCache> decoded_;
  const std::shared_ptr<std::counting_semaphore<>> making_;
  std::vector<Level> levels_;
  std::shared_ptr<CopyScratch> scratch_;  // null until an unsharded level needs it
};

// What fits this machine, and stores that answer at once or only after a while.
CopyLimits ChooseLimits(bool source_is_remote, bool destination_is_remote);

}  // namespace unshard
