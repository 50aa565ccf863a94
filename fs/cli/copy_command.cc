#include "fs/cli/copy_command.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "fs/cli/copy_destination.h"
#include "fs/cli/copy_plan.h"
#include "fs/cli/copy_progress.h"
#include "fs/cli/copy_to_zip.h"
#include "fs/cli/mount_command.h"
#include "fs/common/allocator.h"
#include "fs/common/readable.h"
#include "fs/mount/mount.h"
#include "store/copy/dataset_copy.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/source/source.h"

namespace unshard {
namespace {

constexpr std::size_t kLargestBuffer = std::size_t{32} << 20;  // above that of a batch

// As the walk over the source has its paths; `info` prints them with a slash before.
Result<std::set<std::string>> ExcludedPaths(const CopyCommand& command) {
  std::set<std::string> paths;
  for (const std::string& given : command.exclude) {
    auto path = ResolvePath("", given);
    if (!path || path->empty()) {
      return WrongOption("--exclude \"" + given + "\"",
                         "expected a path below the source, such as labels");
    }
    paths.insert(*std::move(path));
  }
  return paths;
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
  std::shared_ptr<OpenedDataset> source;
  VolumeOptions destination;
  CopyLimits limits;
  // The destination is an archive, and its dataset is made in a directory first.
  std::unique_ptr<ZipOutput> zip;

  // A text as the archive's name is meant to stand in it.
  [[nodiscard]] std::string Shown(const std::string& text) const {
    return zip ? zip->Shown(text) : text;
  }
};

Status Verify(const CopyCommand& command, DatasetCopy& copy) {
  const CopyCounters& done = copy.counters();
  UNSHARD_ASSIGN_OR_RETURN(const std::string took,
                           Show(command, done, [&] { return copy.Verify(); }));
  if (command.quiet) return {};
  std::cout << "verified " << Counted(done.chunks, "chunk") << AndFiles(done.files) << " ("
            << ReadableBytes(done.bytes) << ") in " << took
            << "; every voxel equals that of the source\n";
  return {};
}

void ShowCopied(const CopyCommand& command, const CopyCounters& done, const std::string& took) {
  std::cout << "copied " << Counted(done.chunks, "chunk") << AndFiles(done.files) << " ("
            << ReadableBytes(done.bytes) << ") in " << took << "; " << Counted(done.shards, "shard")
            << " written\n";
  if (done.kept_chunks == 0 && done.kept_files == 0) return;
  std::cout << "kept " << Counted(done.kept_chunks, "chunk") << AndFiles(done.kept_files)
            << " that " << command.create.destination << " had already";
  if (!command.verify) {
    std::cout << ", without comparing them (--verify compares, --replace copies them again)";
  }
  std::cout << "\n";
}

// Also where no progress is shown: the destination differs from the source.
void ShowExtra(const CopyCounters& done) {
  if (done.extra_chunks > 0) {
    std::cout << Counted(done.extra_chunks, "chunk")
              << " of the destination that the source lacks: kept; --delete removes them\n";
  }
  if (done.removed_chunks > 0) {
    std::cout << Counted(done.removed_chunks, "chunk")
              << " of the destination that the source lacks: removed\n";
  }
}

// Verification alone, of a destination that is there, only reads.
bool OnlyCompares(const CopyCommand& command, bool is_there) {
  return command.verify && is_there && !command.deletes && !command.replaces &&
         !DescribesNewDataset(command.create);
}

// What the format of the destination cannot say. Also where no progress is shown.
Status ShowSkipped(const CopyCommand& command, const OpenedDataset& source) {
  constexpr std::size_t kMostNamed = 20;
  const std::vector<SkippedMember>& skipped = source.members().skipped;
  if (skipped.empty()) return {};
  if (command.strict) {
    return Forward(skipped.front().reason, "--strict");
  }
  for (std::size_t i = 0; i < std::min(skipped.size(), kMostNamed); ++i) {
    LogWarning("not copied: " + skipped[i].reason.message);
  }
  if (skipped.size() > kMostNamed) {
    LogWarning("not copied: " + std::to_string(skipped.size() - kMostNamed) + " more");
  }
  return {};
}

// What is planned with a destination that is there.
std::vector<PlannedArray> PlannedOf(const DatasetCopy& copy) {
  std::vector<PlannedArray> arrays;
  for (const DatasetCopy::Pair& pair : copy.Pairs()) {
    arrays.push_back({pair.path, pair.from, pair.to});
  }
  return arrays;
}

// The same of a destination that is not there yet.
std::vector<PlannedArray> WithSources(std::vector<PlannedArray> planned,
                                      const OpenedDataset& source) {
  std::vector<const Array*> from;
  for (const DatasetMember& dataset : source.datasets()) {
    for (const PyramidLevel& level : dataset.source.dataset.levels) from.push_back(&level.array);
  }
  for (std::size_t i = 0; i < planned.size() && from.size() == planned.size(); ++i) {
    planned[i].from = *from[i];
  }
  return planned;
}

Result<Both> OpenBoth(const CopyCommand& command, const std::set<std::string>& excluded) {
  UNSHARD_ASSIGN_OR_RETURN(VolumeOptions source, CopyPlaceOf(command.source));
  source.read_only = true;
  Both both;
  UNSHARD_ASSIGN_OR_RETURN(both.destination, CopyPlaceOf(command.create.destination));
  UNSHARD_RETURN_IF_ERROR(ExpectApart(source, both.destination));
  both.limits = ChooseLimits(!source.url.empty(), !both.destination.url.empty());
  UNSHARD_ASSIGN_OR_RETURN(OpenedDataset opened,
                           OpenedDataset::Open(source, both.limits, excluded));
  both.source = std::make_shared<OpenedDataset>(std::move(opened));
  WarnOfUnpublished(source, "copied");
  return both;
}

// Makes the destination, where it is described or missing. A dry run leaves it, and its plan is
// returned.
Result<std::vector<PlannedArray>> Prepare(const CopyCommand& command,
                                          const std::set<std::string>& excluded, bool is_there,
                                          Both& both, bool& tried) {
  CreateCommand create = command.create;
  const bool to_zip = !is_there && IsZipDestination(command);
  if (to_zip) create.format = FormatInZip(command, *both.source);
  if (!is_there && !DescribesNewDataset(create)) create.like = command.source;
  if (!DescribesNewDataset(create)) {
    UNSHARD_RETURN_IF_ERROR(LeaveOutOf(*both.source, both.destination));
    return std::vector<PlannedArray>();
  }
  if (create.like.empty()) create.format = FormatNameOf(create);
  if (create.format.empty() && create.like.empty()) {
    create.format = DialectName(both.source->datasets().front().source.dataset.dialect);
  }
  UNSHARD_ASSIGN_OR_RETURN(auto documents, DocumentsOfDestination(create, *both.source, excluded));
  if (command.strict && !both.source->members().skipped.empty()) {
    return std::vector<PlannedArray>();
  }
  tried = true;
  UNSHARD_ASSIGN_OR_RETURN(const auto places, LevelPlacesFor(create, *both.source));
  UNSHARD_RETURN_IF_ERROR(CheckPlaces(*both.source->store(), both.source->members(), places));
  if (to_zip) {
    UNSHARD_RETURN_IF_ERROR(CheckZipDocuments(command, documents));
    if (!command.dry_run) {
      UNSHARD_ASSIGN_OR_RETURN(both.zip, BeginZip(command, *both.source, excluded, documents));
      create.destination = both.zip->directory();
      UNSHARD_ASSIGN_OR_RETURN(both.destination, CopyPlaceOf(create.destination));
    }
  }
  if (command.dry_run) {
    UNSHARD_ASSIGN_OR_RETURN(const bool created, IsCreated(create.destination, documents));
    if (created && !to_zip) return std::vector<PlannedArray>();
    if (!to_zip) UNSHARD_RETURN_IF_ERROR(CheckNoDataset(create.destination, documents));
    UNSHARD_ASSIGN_OR_RETURN(auto planned, PlannedIn(documents));
    return WithSources(std::move(planned), *both.source);
  }
  UNSHARD_RETURN_IF_ERROR(CreateDestination(create.destination, std::move(documents)));
  return std::vector<PlannedArray>();
}

// A destination that is there, with what it has already: swapped arguments are seen.
Status ShowPlan(const CopyCommand& command, const Both& both, const DatasetCopy& copy,
                bool only_compares) {
  std::cout << both.Shown(PlanText(PlannedOf(copy), command.create.destination));
  if (!only_compares) {
    UNSHARD_ASSIGN_OR_RETURN(const PresentChunks present, copy.CountPresent(command.deletes));
    std::cout << PresentText(present, command);
  }
  std::cout << std::flush;
  return {};
}

Status CopyInto(const CopyCommand& command, const Both& both, bool only_compares) {
  const CopyMode mode{.only_reads = only_compares || command.dry_run,
                      .removes = command.deletes,
                      .replaces = command.replaces};
  UNSHARD_ASSIGN_OR_RETURN(const auto copy,
                           DatasetCopy::Open(both.source, both.destination, both.limits, mode));
  if (command.dry_run || (!command.quiet && !only_compares)) {
    UNSHARD_RETURN_IF_ERROR(ShowPlan(command, both, *copy, only_compares));
  }
  if (command.dry_run) return {};
  if (only_compares) return Verify(command, *copy);
  UNSHARD_ASSIGN_OR_RETURN(const std::string took,
                           Show(command, copy->counters(), [&] { return copy->Run(); }));
  if (!command.quiet) ShowCopied(command, copy->counters(), took);
  ShowExtra(copy->counters());
  return {};
}

Status PackInto(const CopyCommand& command, Both& both) {
  UNSHARD_ASSIGN_OR_RETURN(const ZipOutput::Packed packed, both.zip->Finish());
  if (!command.quiet) {
    std::cout << "packed " << Counted(packed.files, "file") << " (" << ReadableBytes(packed.bytes)
              << ") into " << command.create.destination << "\n";
  }
  UNSHARD_ASSIGN_OR_RETURN(both.destination, CopyPlaceOf(command.create.destination));
  return {};
}

// The destination is opened anew: as whoever reads it afterwards.
Status VerifyAnew(const CopyCommand& command, const Both& both) {
  UNSHARD_ASSIGN_OR_RETURN(const auto again, DatasetCopy::Open(both.source, both.destination,
                                                               both.limits, {.only_reads = true}));
  return Verify(command, *again);
}

// What is copied is there, whole.
Status Finish(const CopyCommand& command, Both& both) {
  if (both.zip) UNSHARD_RETURN_IF_ERROR(PackInto(command, both));
  return command.verify ? VerifyAnew(command, both) : Status();
}

// The options as far as they can be judged without the source.
Status CheckOptionsOf(const CopyCommand& command) {
  const std::string name = FormatNameOf(command.create);
  if (name.empty() && !command.create.ome.empty()) {
    return OmeVersionOf(command.create, Dialect::kZarr3).map([](const auto*) {});
  }
  if (name.empty()) return {};
  UNSHARD_ASSIGN_OR_RETURN(const Dialect format, FormatOf(name));
  UNSHARD_RETURN_IF_ERROR(OmeVersionOf(command.create, format));
  CreateCommand create = command.create;
  create.item_size = 1;
  UNSHARD_RETURN_IF_ERROR(SchemaOf(create, format));
  UNSHARD_RETURN_IF_ERROR(ScalesOf(create, format));
  return {};
}

// `tried`: set once the failure is no longer one of arguments alone.
Status Copy(const CopyCommand& command, bool& tried) {
  UNSHARD_RETURN_IF_ERROR(CheckOptionsOf(command));
  UNSHARD_ASSIGN_OR_RETURN(const auto excluded, ExcludedPaths(command));
  const bool to_zip = IsZipDestination(command);
  // Else it is first asked whether the archive is there.
  if (to_zip && !OnlyCompares(command, true)) UNSHARD_RETURN_IF_ERROR(CheckZipDestination(command));
  UNSHARD_ASSIGN_OR_RETURN(Both both, OpenBoth(command, excluded));
  bool is_there = false;  // an archive that is written is replaced whole
  if (!to_zip || OnlyCompares(command, true)) {
    UNSHARD_ASSIGN_OR_RETURN(is_there, IsThere(both.destination, *both.source));
  }
  const bool only_compares = OnlyCompares(command, is_there);
  if (to_zip && !only_compares) UNSHARD_RETURN_IF_ERROR(CheckZipDestination(command));
  UNSHARD_ASSIGN_OR_RETURN(const auto planned, Prepare(command, excluded, is_there, both, tried));
  tried = true;
  UNSHARD_RETURN_IF_ERROR(ShowSkipped(command, *both.source));
  if (!planned.empty()) {
    std::cout << PlanText(planned, command.create.destination);
    return {};
  }
  Status copied = CopyInto(command, both, only_compares);
  if (copied && !command.dry_run && !only_compares) copied = Finish(command, both);
  if (!copied) copied.error().message = both.Shown(copied.error().message);
  return copied;
}

// A full disk: what was copied stays, and is found again.
Error WithAdviceOfRoom(const CopyCommand& command, Error error) {
  if (error.system_errno != ENOSPC && error.system_errno != EDQUOT) return error;
  error.message += "; make room, then run the same command again";
  if (!command.replaces) error.message += ": it goes on where it stopped";
  return error;
}

}  // namespace

int RunCopy(const CopyCommand& command) {
  KeepFreedBuffers(kLargestBuffer);
  StartLog(LogSink::kStandardError, LogLevel::kWarning);
  bool tried = false;
  const Status copied = Copy(command, tried);
  if (copied) return 0;
  const int status = ReportFailure(WithAdviceOfRoom(command, copied.error()));
  const bool wrong = !tried && copied.error().code == ErrorCode::kInvalidArgument;
  return wrong ? kWrongArguments : status;
}

}  // namespace unshard
