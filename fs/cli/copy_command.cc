#include "fs/cli/copy_command.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "fs/cli/copy_progress.h"
#include "fs/cli/mount_command.h"
#include "fs/common/allocator.h"
#include "fs/common/readable.h"
#include "store/copy/dataset_copy.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/source/source.h"

namespace unshard {
namespace {

constexpr std::size_t kLargestBuffer = std::size_t{32} << 20;  // above that of a batch

Result<VolumeOptions> OptionsOf(const std::string& given) {
  VolumeOptions options;
  UNSHARD_RETURN_IF_ERROR(NameSource(given, options));
  options.watch = WatchMode::kOff;
  return options;
}

// Whether the destination has exactly these documents: an earlier copy has created it.
Result<bool> IsCreated(const std::string& destination, const std::vector<NewDocument>& documents) {
  UNSHARD_ASSIGN_OR_RETURN(VolumeOptions options, OptionsOf(destination));
  std::error_code unknown;
  if (options.url.empty() && !std::filesystem::is_directory(options.source, unknown)) return false;
  options.read_only = true;
  UNSHARD_ASSIGN_OR_RETURN(const SourceParts parts, OpenSource(options, nullptr));
  for (const NewDocument& document : documents) {
    UNSHARD_ASSIGN_OR_RETURN(
        const auto there,
        ReadWhole(*parts.store, document.path, document.text.size() + 1, CallerDeadline()));
    if (!there || there->text != document.text) return false;
  }
  return true;
}

// A copy of a directory into itself would find its own files the next time.
Status ExpectApart(const VolumeOptions& source, const VolumeOptions& destination) {
  namespace fs = std::filesystem;
  if (source.url.empty() != destination.url.empty()) return {};
  const auto place = [](const VolumeOptions& options) {
    if (!options.url.empty()) return options.source;
    std::error_code unknown;
    const fs::path path = fs::weakly_canonical(fs::absolute(options.source, unknown), unknown);
    return (path.has_filename() ? path : path.parent_path()).string();
  };
  const std::string from = place(source), to = place(destination);
  if (from.empty() || !IsAtOrBelow(to, from)) return {};
  return Fail(ErrorCode::kInvalidArgument,
              destination.source + ": lies in the source; name a place outside of it");
}

// As the walk over the source has its paths.
Result<std::set<std::string>> ExcludedPaths(const CopyCommand& command) {
  std::set<std::string> paths;
  for (const std::string& given : command.exclude) {
    auto path = ResolvePath("", given);
    if (!path || path->empty() || given.starts_with('/')) {
      return Fail(
          ErrorCode::kInvalidArgument,
          "--exclude: expected a path below the source, such as labels, found \"" + given + "\"");
    }
    paths.insert(*std::move(path));
  }
  return paths;
}

// Those of --like have what is left out.
void Exclude(const std::set<std::string>& excluded, std::vector<NewDocument>& documents) {
  std::erase_if(documents, [&](const NewDocument& document) {
    return std::any_of(excluded.begin(), excluded.end(),
                       [&](const std::string& path) { return IsAtOrBelow(document.path, path); });
  });
}

Status CreateDestination(const CopyCommand& command, const OpenedDataset& source,
                         const std::set<std::string>& excluded) {
  if (!DescribesNewDataset(command.create)) return {};
  auto described = source.is_single()
                       ? DocumentsFor(command.create, source.datasets().front().source.dataset)
                       : DocumentsForGroup(command.create, source);
  if (!described) return Forward(std::move(described).error(), command.create.destination);
  UNSHARD_ASSIGN_OR_RETURN(const auto places, LevelPlacesFor(command.create, source));
  UNSHARD_RETURN_IF_ERROR(CheckPlaces(*source.store(), source.members(), places));
  std::vector<NewDocument> documents = *std::move(described);
  Exclude(excluded, documents);
  const auto created = IsCreated(command.create.destination, documents);
  if (created && *created) return {};
  return CreateDataset(command.create.destination, std::move(documents));
}

// Runs a part of a copy, and shows how far it is. Returns how long it took: "1.3 s".
Result<std::string> Show(const CopyCommand& command, const CopyCounters& counters,
                         const std::function<Status()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  const auto progress = command.quiet ? nullptr : std::make_unique<CopyProgress>(counters);
  UNSHARD_RETURN_IF_ERROR(run());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::ostringstream text;
  text << static_cast<double>(static_cast<int>(took.count() * 10)) / 10 << " s";
  return text.str();
}

// " and 2 files" where there are any.
std::string AndFiles(std::uint64_t files) {
  return files == 0 ? "" : " and " + Counted(files, "file");
}

struct Both {
  std::shared_ptr<const OpenedDataset> source;
  VolumeOptions destination;
  CopyLimits limits;
};

Status Verify(const CopyCommand& command, const Both& both) {
  // The destination is opened anew: as whoever reads it afterwards.
  UNSHARD_ASSIGN_OR_RETURN(const auto copy,
                           DatasetCopy::Open(both.source, both.destination, both.limits));
  const CopyCounters& done = copy->counters();
  UNSHARD_ASSIGN_OR_RETURN(const std::string took,
                           Show(command, done, [&] { return copy->Verify(); }));
  if (command.quiet) return {};
  std::cout << "verified " << Counted(done.chunks, "chunk") << AndFiles(done.files) << " ("
            << ReadableBytes(done.bytes) << ") in " << took
            << "; every voxel is that of the source\n";
  return {};
}

void ShowCopied(const CopyCounters& done, const std::string& took) {
  std::cout << "copied " << Counted(done.chunks, "chunk") << AndFiles(done.files) << " ("
            << ReadableBytes(done.bytes) << ") in " << took << "; " << Counted(done.shards, "shard")
            << " written, " << Counted(done.kept_shards, "shard")
            << (done.kept_files > 0 ? ", " : " and ") << Counted(done.kept_chunks, "chunk")
            << AndFiles(done.kept_files) << " were there already\n";
}

Status Copy(const CopyCommand& command) {
  UNSHARD_ASSIGN_OR_RETURN(VolumeOptions source, OptionsOf(command.source));
  source.read_only = true;
  Both both;
  UNSHARD_ASSIGN_OR_RETURN(both.destination, OptionsOf(command.create.destination));
  UNSHARD_RETURN_IF_ERROR(ExpectApart(source, both.destination));
  both.limits = ChooseLimits(!source.url.empty(), !both.destination.url.empty());
  UNSHARD_ASSIGN_OR_RETURN(const auto excluded, ExcludedPaths(command));
  UNSHARD_ASSIGN_OR_RETURN(OpenedDataset opened,
                           OpenedDataset::Open(source, both.limits, excluded));
  both.source = std::make_shared<const OpenedDataset>(std::move(opened));
  UNSHARD_RETURN_IF_ERROR(CreateDestination(command, *both.source, excluded));
  UNSHARD_ASSIGN_OR_RETURN(const auto copy,
                           DatasetCopy::Open(both.source, both.destination, both.limits));
  UNSHARD_ASSIGN_OR_RETURN(const std::string took,
                           Show(command, copy->counters(), [&] { return copy->Run(); }));
  if (!command.quiet) ShowCopied(copy->counters(), took);
  return command.verify ? Verify(command, both) : Status();
}

}  // namespace

int RunCopy(const CopyCommand& command) {
  KeepFreedBuffers(kLargestBuffer);
  StartLog(LogSink::kStandardError, LogLevel::kWarning);
  const Status copied = Copy(command);
  return copied ? 0 : ReportFailure(copied.error());
}

}  // namespace unshard
