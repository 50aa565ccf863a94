#include "fs/cli/copy_command.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "fs/cli/copy_progress.h"
#include "fs/cli/mount_command.h"
#include "fs/common/readable.h"
#include "store/copy/dataset_copy.h"
#include "store/dataset/source.h"
#include "store/object/log.h"

namespace unshard {
namespace {

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

Status CreateDestination(const CopyCommand& command, const VolumeOptions& source) {
  if (!DescribesNewDataset(command.create)) return {};
  VolumeOptions read = source;
  read.read_only = true;
  UNSHARD_ASSIGN_OR_RETURN(const OpenedDataset opened, OpenedDataset::Open(read, CopyLimits()));
  auto described = opened.is_group()
                       ? DocumentsForGroup(command.create, opened)
                       : DocumentsFor(command.create, opened.datasets().front().source.dataset);
  if (!described) return Forward(std::move(described).error(), command.create.destination);
  std::vector<NewDocument> documents = *std::move(described);
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

Status Verify(const CopyCommand& command, const VolumeOptions& source,
              const VolumeOptions& destination) {
  // Opened anew: as whoever reads the destination afterwards.
  UNSHARD_ASSIGN_OR_RETURN(const auto copy, DatasetCopy::Open(source, destination));
  const CopyCounters& done = copy->counters();
  UNSHARD_ASSIGN_OR_RETURN(const std::string took,
                           Show(command, done, [&] { return copy->Verify(); }));
  if (command.quiet) return {};
  std::cout << "verified " << Counted(done.chunks, "chunk") << " (" << ReadableBytes(done.bytes)
            << ") in " << took << "; every voxel is that of the source\n";
  return {};
}

Status Copy(const CopyCommand& command) {
  UNSHARD_ASSIGN_OR_RETURN(const VolumeOptions source, OptionsOf(command.source));
  UNSHARD_ASSIGN_OR_RETURN(const VolumeOptions destination, OptionsOf(command.create.destination));
  UNSHARD_RETURN_IF_ERROR(CreateDestination(command, source));
  UNSHARD_ASSIGN_OR_RETURN(const auto copy, DatasetCopy::Open(source, destination));
  const CopyCounters& done = copy->counters();
  UNSHARD_ASSIGN_OR_RETURN(const std::string took,
                           Show(command, done, [&] { return copy->Run(); }));
  if (!command.quiet) {
    std::cout << "copied " << Counted(done.chunks, "chunk") << " (" << ReadableBytes(done.bytes)
              << ") in " << took << "; " << Counted(done.shards, "shard") << " written, "
              << Counted(done.kept_shards, "shard") << " and " << Counted(done.kept_chunks, "chunk")
              << " were there already\n";
  }
  return command.verify ? Verify(command, source, destination) : Status();
}

}  // namespace

int RunCopy(const CopyCommand& command) {
  StartLog(LogSink::kStandardError, LogLevel::kWarning);
  const Status copied = Copy(command);
  return copied ? 0 : ReportFailure(copied.error());
}

}  // namespace unshard
