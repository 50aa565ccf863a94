#include "store/copy/dataset_copy.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "store/copy/copy_check.h"
#include "store/copy/left_locks.h"
#include "store/copy/plain_copy.h"
#include "store/copy/shard_copy.h"
#include "store/copy/try_each.h"
#include "store/dataset/dataset_tree.h"
#include "store/dataset/shard_count.h"
#include "store/local/posix_file_system.h"
#include "store/object/log.h"
#include "store/publish/can_publish.h"

namespace unshard {
namespace {

// Requests under way at a time, for one worker.
constexpr std::size_t kRequests = 24;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// The names of the axes, slowest first, as far as the metadata have them.
std::vector<PyramidAxis> AxesOf(const SourceDataset& dataset, const Array& array) {
  const auto geometry = ReadGeometry(dataset);
  return geometry && geometry->axes.size() == array.rank() ? geometry->axes : AxesOf(array);
}

// The same, as members of the array.
Array WithNames(Array array, const SourceDataset& dataset) {
  if (!array.axis_names.empty()) return array;
  for (const PyramidAxis& axis : AxesOf(dataset, array)) {
    array.axis_names.push_back(axis.name.empty() ? std::nullopt : std::optional(axis.name));
  }
  return array;
}

}  // namespace

CopyLimits ChooseLimits(bool source_is_remote, bool destination_is_remote) {
  CopyLimits limits;
  const std::size_t cores = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 16);
  limits.coding_threads = cores;
  limits.workers = std::max<std::size_t>(cores, source_is_remote || destination_is_remote ? 4 : 2);
  limits.makers = source_is_remote ? limits.workers : limits.workers / 2;
  limits.reading_threads = source_is_remote ? kRequests : cores;
  if (destination_is_remote) limits.writing_threads = kRequests;
  limits.batch_bytes = std::clamp(64 * kMiB / limits.workers, kMiB, 8 * kMiB);
  limits.staged_bytes = 256 * kMiB / limits.workers;
  return limits;
}

DatasetCopy::DatasetCopy(std::shared_ptr<const OpenedDataset> source, OpenedDataset destination,
                         const CopyLimits& limits, CopyMode mode)
    : source_(std::move(source)),
      destination_(std::move(destination)),
      formats_(destination_.datasets()),
      limits_(limits),
      mode_(mode),
      decoded_(std::make_shared<ByteBudgetCache>(limits.decoded_bytes)),
      making_(std::make_shared<std::counting_semaphore<>>(limits.makers)) {}

Result<std::unique_ptr<DatasetCopy>> DatasetCopy::Open(std::shared_ptr<const OpenedDataset> source,
                                                       VolumeOptions destination,
                                                       const CopyLimits& limits, CopyMode mode) {
  std::vector<std::string> paths;
  for (const DatasetMember& dataset : source->datasets()) paths.push_back(dataset.path);
  if (mode.only_reads) destination.read_only = true;
  UNSHARD_ASSIGN_OR_RETURN(OpenedDataset to, OpenedDataset::OpenAt(destination, paths, limits));
  if (!mode.only_reads && !to.parts().replacer) {
    return Fail(ErrorCode::kReadOnly, to.Describe(),
                ": can only be read; name a directory, or a URL of s3:// or gs://");
  }
  UNSHARD_RETURN_IF_ERROR(
      CheckPlaces(*source->store(), source->members(), LevelPlacesOf(to.datasets())));
  std::unique_ptr<DatasetCopy> copy(
      new DatasetCopy(std::move(source), std::move(to), limits, mode));
  for (std::size_t i = 0; i < paths.size(); ++i) UNSHARD_RETURN_IF_ERROR(copy->AddDataset(i));
  return copy;
}

Status DatasetCopy::AddDataset(std::size_t number) {
  const DatasetMember& to = destination_.datasets()[number];
  const std::size_t levels = source_->datasets()[number].source.levels.size();
  if (to.source.levels.size() != levels) {
    return Fail(ErrorCode::kInvalidArgument, destination_.store()->Describe(to.path),
                ": its number of levels, ", to.source.levels.size(),
                ", differs from that of the source, ", levels);
  }
  for (std::size_t level = 0; level < levels; ++level) {
    UNSHARD_RETURN_IF_ERROR(AddLevel(number, level));
  }
  return {};
}

Status DatasetCopy::AddLevel(std::size_t dataset, std::size_t number) {
  const DatasetMember& source = source_->datasets()[dataset];
  const DatasetMember& destination = destination_.datasets()[dataset];
  UNSHARD_ASSIGN_OR_RETURN(StoredArray from, source_->OpenLevel(source, number));
  Level level;
  UNSHARD_ASSIGN_OR_RETURN(level.to, destination_.OpenLevel(destination, number));
  const auto axes = AxesOf(source.source.dataset, from.array);
  auto map = MatchArrays(from.array, axes, WithNames(level.to.array, destination.source.dataset));
  if (!map) return Forward(std::move(map).error(), level.to.path);
  auto mapping = ChunkMapping::ForCopy(from.array, level.to.array, *std::move(map));
  if (!mapping) return Forward(std::move(mapping).error(), level.to.path);
  level.mapping = std::make_shared<const ChunkMapping>(*std::move(mapping));
  level.source = std::make_shared<const ChunkSource>(std::move(from), limits_);
  UNSHARD_RETURN_IF_ERROR(CanWrite(level));
  counters_->all_cells += level.mapping->to_grid().cell_count();
  levels_.push_back(std::move(level));
  return {};
}

std::vector<DatasetCopy::Pair> DatasetCopy::Pairs() const {
  std::vector<Pair> pairs;
  for (const Level& level : levels_) {
    pairs.push_back({level.to.path, level.mapping->from(), level.mapping->to()});
  }
  return pairs;
}

Status DatasetCopy::CanWrite(const Level& level) const {
  if (mode_.only_reads) return {};
  UNSHARD_RETURN_IF_ERROR(destination_.parts().replacer->CanReplace(level.to.tree->directory()));
  if (!level.to.sharded) return {};
  Status status = CanPublishFormat(level.to.tree->shards().format(),
                                   {limits_.index_bytes, limits_.whole_shard_bytes});
  if (status) return {};
  return Forward(std::move(status).error(), level.to.path);
}

FileCopy DatasetCopy::MakeFileCopy() const {
  const SourceParts& parts = destination_.parts();
  return FileCopy(
      {source_->store(), destination_.store(), parts.replacer, parts.files, counters_, mode_},
      limits_);
}

Status DatasetCopy::Run() {
  const SourceParts& parts = destination_.parts();
  const DatasetMembers& members = source_->members();
  for (const std::string& loss : LossesOf(*source_->store(), members, formats_)) LogWarning(loss);
  for (const std::string& document : destination_.Documents()) {
    if (!parts.files) break;
    UNSHARD_RETURN_IF_ERROR(RemoveLeftLocks(*parts.files, *parts.replacer, document));
  }
  for (const Level& level : levels_) UNSHARD_RETURN_IF_ERROR(CopyLevel(level));
  FileCopy files = MakeFileCopy();
  for (const FileDirectory& directory : FilesToCopy(members, formats_)) {
    UNSHARD_RETURN_IF_ERROR(files.Run(directory));
  }
  return {};
}

Result<PresentChunks> DatasetCopy::CountPresent(bool counts_extra) const {
  // Looking up so many chunks in the source takes a small part of the time of a copy.
  constexpr std::uint64_t kMostLookedUp = std::uint64_t{1} << 16;
  const std::uint64_t most = counts_extra ? kMostLookedUp : kMostCountedShards;
  PresentChunks counted;
  for (const Level& level : levels_) {
    UNSHARD_RETURN_IF_ERROR(
        unshard::CountPresent(*destination_.store(), *MakerOf(level), most, counts_extra, counted));
  }
  return counted;
}

Status DatasetCopy::Verify() {
  for (const Level& level : levels_) UNSHARD_RETURN_IF_ERROR(VerifyLevel(level));
  FileCopy files = MakeFileCopy();
  for (const FileDirectory& directory : FilesToCopy(source_->members(), formats_)) {
    UNSHARD_RETURN_IF_ERROR(files.Verify(directory));
  }
  return {};
}

// Whether the array has nothing but metadata in its directory. False where the store cannot list.
Result<bool> DatasetCopy::IsEmpty(const Level& level) const {
  if (!destination_.store()->capabilities().lists) return false;
  bool empty = true;
  UNSHARD_RETURN_IF_ERROR(destination_.store()->List(level.to.tree->directory(), CallerDeadline(),
                                                     [&](const ListEntry& entry) {
                                                       empty = IsMetadataName(entry.name);
                                                       return empty;
                                                     }));
  return empty;
}

Result<DatasetCopy::Worker> DatasetCopy::MakeWorker(const Level& level,
                                                    const std::shared_ptr<const ChunkMaker>& maker,
                                                    bool was_empty) {
  const SourceParts& parts = destination_.parts();
  if (level.to.sharded) {
    const auto shards =
        std::make_shared<ShardCopy>(ShardCopy::Parts{maker, destination_.store(), parts.replacer,
                                                     parts.files, counters_, making_, mode_},
                                    limits_);
    return Worker{[shards](const CopyTask& task) { return shards->Run(task); },
                  []() -> Status { return {}; }};
  }
  PlainCopy::Parts plain{maker, nullptr, counters_, was_empty, mode_};
  if (parts.files) {
    if (!scratch_) {
      UNSHARD_ASSIGN_OR_RETURN(auto files,
                               OpenPosixFileSystem(destination_.Describe(), NewFiles::kShared,
                                                   parts.own_mount, Directories::kKeptOpen));
      UNSHARD_ASSIGN_OR_RETURN(scratch_, CopyScratch::Make(std::move(files)));
    }
    plain.files = MakeLocalChunkFiles(scratch_);
  } else {
    plain.files = MakeRemoteChunkFiles(destination_.store(), parts.replacer);
  }
  const auto chunks = std::make_shared<PlainCopy>(std::move(plain), limits_);
  return Worker{[chunks](const CopyTask& task) { return chunks->Run(task); },
                [chunks] { return chunks->Finish(); }};
}

std::shared_ptr<const ChunkMaker> DatasetCopy::MakerOf(const Level& level) const {
  return std::make_shared<const ChunkMaker>(level.mapping, level.source, level.to, decoded_,
                                            limits_);
}

Status DatasetCopy::CopyLevel(const Level& level) {
  UNSHARD_ASSIGN_OR_RETURN(const bool was_empty, IsEmpty(level));
  const auto maker = MakerOf(level);
  return WorkThrough(level, [&] { return MakeWorker(level, maker, was_empty); });
}

Status DatasetCopy::VerifyLevel(const Level& level) {
  const auto written =
      std::make_shared<const ChunkSource>(level.to, limits_, ChunkSource::Role::kDestination);
  const auto check = std::make_shared<CopyCheck>(MakerOf(level), written, counters_);
  return WorkThrough(level, [check]() -> Result<Worker> {
    return Worker{[check](const CopyTask& task) { return check->Run(task); },
                  []() -> Status { return {}; }};
  });
}

Status DatasetCopy::WorkThrough(const Level& level,
                                const std::function<Result<Worker>()>& make_worker) {
  const auto walk =
      level.to.sharded ? WalkShards(level.to, level.mapping->to_grid()) : WalkBoxes(*level.mapping);
  std::vector<Worker> workers;
  for (std::size_t i = 0; i < limits_.workers; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(Worker worker, make_worker());
    workers.push_back(std::move(worker));
  }
  std::mutex mutex;
  std::atomic<bool> failed{false};
  const auto next = [&]() -> std::optional<CopyTask> {
    const std::lock_guard lock(mutex);
    return failed ? std::nullopt : walk->Next();
  };
  return TryEachInParallel(workers.size(), workers.size(), [&](std::size_t i) -> Status {
    Status done;
    while (const auto task = done ? next() : std::nullopt) {
      done = workers[i].run(*task);
      counters_->cells += task->cells;
    }
    if (done) done = workers[i].finish();
    if (!done) failed = true;
    return done;
  });
}

}  // namespace unshard
