#include "fs/cli/spool_command.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iostream>
#include <memory>
#include <set>
#include <vector>

#include "codec/core/escaped_text.h"
#include "fs/cli/mount_command.h"
#include "fs/common/readable.h"
#include "fs/mount/mount_status.h"
#include "store/local/posix_file_system.h"
#include "store/local/private_folder.h"
#include "store/object/key.h"
#include "store/object/log.h"
#include "store/source/source.h"
#include "store/spool/spool_contents.h"
#include "store/volume/spool_folder.h"
#include "store/volume/volume.h"

namespace unshard {
namespace {

struct OpenedFolder {
  std::string path;
  std::shared_ptr<FileSystem> files;  // null where no mount has made it yet
  std::vector<FoundSpool> spools;     // of the source that was asked for
};

// What a directory or URL is now, as the spools of its mounts record it.
Result<SourceIdentity> IdentityOf(const std::string& source) {
  VolumeOptions options;
  UNSHARD_RETURN_IF_ERROR(NameSource(source, options));
  return IdentifyVolume(options);
}

Result<OpenedFolder> OpenFolder(const SpoolCommand& command) {
  OpenedFolder folder;
  folder.path = AbsolutePath(command.folder.empty() ? DefaultSpoolFolder() : command.folder);
  auto files = OpenPosixFileSystem(folder.path);
  if (!files) {
    if (command.folder.empty() && files.error().system_errno == ENOENT) return folder;
    Error error = std::move(files).error();
    error.message += "; name a folder that was given to mount with -o spool=";
    return tl::unexpected<Error>(std::move(error));
  }
  folder.files = *std::move(files);
  UNSHARD_ASSIGN_OR_RETURN(auto found, FindSpools(*folder.files));
  const std::string source = command.source.empty() ? "" : ShownSource(command.source);
  const auto identity = IdentityOf(command.source);
  for (FoundSpool& spool : found) {
    const bool moved =
        identity && spool.record.identity && IsMovedSource(*spool.record.identity, *identity);
    if (source.empty() || spool.source == source || moved) {
      folder.spools.push_back(std::move(spool));
    }
  }
  return folder;
}

// A source of which there is no spool has nothing left to publish; a name that is no source either
// is a mistake.
Status ExpectSource(const SpoolCommand& command, const OpenedFolder& folder) {
  if (command.source.empty() || !folder.spools.empty()) return {};
  auto identity = IdentityOf(command.source);
  if (identity) return {};
  Error error = std::move(identity).error();
  error.message += ", and no spool in " + folder.path + " is of this source; `unshard spool list" +
                   (command.folder.empty() ? "" : " --spool " + folder.path) +
                   "` shows the sources of all spools";
  return tl::unexpected<Error>(std::move(error));
}

std::string TimeText(const timespec& time) {
  std::tm utc{};
  char text[32];
  gmtime_r(&time.tv_sec, &utc);
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text, length};
}

// Why a spool cannot be published: another directory has the path of its source now, or it is of
// another host. Nothing where it can be.
std::optional<std::string> WhyNotPublishable(const FoundSpool& spool) {
  if (spool.alive) return std::nullopt;
  const auto identity = IdentityOf(spool.source);
  if (!identity) return std::nullopt;  // publishing reports this
  return WhyOfAnotherSource(spool.record, ThisProcess(spool.source, *identity));
}

void PrintChunk(const SpoolFile& file) {
  std::cout << "    " << Printable(JoinPath(file.chunk.dataset, file.chunk.chunk)) << "  "
            << (file.chunk.removed ? "removed" : Counted(file.chunk.size, "byte")) << "  "
            << TimeText(file.chunk.committed) << "  " << (file.conflict ? "conflict, " : "")
            << (file.damaged ? "damaged, " : "") << Printable(file.path) << "\n";
}

bool HoldsNothing(const SpoolContents& contents) {
  return contents.chunks.empty() && contents.conflicts.empty() && contents.damaged.empty();
}

Status PrintSpool(const OpenedFolder& folder, const FoundSpool& spool, bool verbose) {
  const std::string path = folder.path + "/" + spool.path;
  std::cout << Printable(path) << "\n    source " << Printable(spool.source) << "\n    "
            << (spool.alive ? "in use by " : "left by ") << Printable(spool.owner) << "\n";
  if (const auto why = WhyNotPublishable(spool)) std::cout << "    " << Printable(*why) << "\n";
  UNSHARD_ASSIGN_OR_RETURN(const SpoolContents contents, ReadSpool(path));
  std::cout << "    " << Counted(contents.chunks.size(), "chunk") << ", "
            << ReadableBytes(contents.bytes) << ", "
            << Counted(contents.conflicts.size(), "conflict");
  if (!contents.damaged.empty()) std::cout << ", " << contents.damaged.size() << " damaged";
  std::cout << "\n";
  if (!spool.alive && HoldsNothing(contents)) {
    std::cout << "    `unshard spool drop --all " << Printable(spool.source) << "` removes it\n";
  }
  if (!verbose) return {};
  for (const SpoolFile& file : contents.chunks) PrintChunk(file);
  for (const SpoolFile& file : contents.conflicts) PrintChunk(file);
  for (const SpoolFile& file : contents.damaged) PrintChunk(file);
  return {};
}

int List(const SpoolCommand& command, const OpenedFolder& folder) {
  if (folder.spools.empty()) {
    const std::string of = command.source.empty() ? "" : " of " + ShownSource(command.source);
    std::cout << "no spools" << Printable(of) << " in " << Printable(folder.path) << "\n";
  }
  int status = 0;
  for (const FoundSpool& spool : folder.spools) {
    if (const Status printed = PrintSpool(folder, spool, command.verbose); !printed) {
      status = ReportFailure(printed.error());
    }
  }
  return status;
}

struct Left {
  std::uint64_t spools = 0, chunks = 0, bytes = 0, conflicts = 0;
};

// Counts what is in the spools of dead mounts.
Result<Left> CountLeft(const OpenedFolder& folder) {
  Left left;
  for (const FoundSpool& spool : folder.spools) {
    if (spool.alive) continue;
    UNSHARD_ASSIGN_OR_RETURN(const SpoolContents contents,
                             ReadSpool(folder.path + "/" + spool.path));
    ++left.spools;
    left.chunks += contents.chunks.size();
    left.bytes += contents.bytes;
    left.conflicts += contents.conflicts.size();
  }
  return left;
}

// Opening the source for writing takes over the spools of dead mounts.
Status PublishInto(const std::string& source, const std::string& folder) {
  VolumeOptions options;
  UNSHARD_RETURN_IF_ERROR(NameSource(source, options));
  options.spool = folder;
  UNSHARD_ASSIGN_OR_RETURN(const auto volume, Volume::Open(options, nullptr));
  const Status flushed = volume->writes()->Drain();
  RemoveEmptySpools(volume->spools());
  return flushed;
}

int PublishLeft(const SpoolCommand& command, const OpenedFolder& folder) {
  for (const FoundSpool& spool : folder.spools) {
    if (!spool.alive) continue;
    std::cout << spool.path << ": in use by " << spool.owner << ", which publishes its chunks\n";
  }
  const auto before = CountLeft(folder);
  if (!before) return ReportFailure(before.error());
  if (before->chunks == 0) {
    std::cout << "nothing to publish in " << folder.path << "\n";
    return 0;
  }
  const Status published = PublishInto(command.source, folder.path);
  int status = published ? 0 : ReportFailure(published.error());
  const auto again = OpenFolder(command);
  if (!again) return ReportFailure(again.error());
  const auto after = CountLeft(*again);
  if (!after) return ReportFailure(after.error());
  if (after->chunks > 0) {
    std::cerr << "unshard: " << DescribeSpooled(after->chunks, after->bytes, folder.path)
              << "; the reason is above, and the next mount tries again\n";
    status = 1;
  }
  // Conflicts of this run need a person; those of earlier runs were reported then.
  const std::uint64_t quarantined =
      after->conflicts - std::min(after->conflicts, before->conflicts);
  if (quarantined > 0) {
    std::cerr << "unshard: " << Printable(folder.path) << ": " << Counted(quarantined, "chunk")
              << " quarantined, because another program has changed the source; see `unshard spool "
                 "list -v`\n";
    status = 1;
  }
  const std::uint64_t done = before->chunks - std::min(before->chunks, after->chunks + quarantined);
  std::cout << Counted(done, "chunk") << " taken over and published\n";
  return status;
}

// One of the spools that are exported.
struct Exported {
  std::shared_ptr<FileSystem> files;
  SpoolContents contents;
};

// The spools that hold anything. Fails where they are of several sources, where no spool is of the
// source that was named, and where the copies would go into a source.
Result<std::vector<Exported>> ChooseExports(const SpoolCommand& command, const OpenedFolder& folder,
                                            const std::string& to) {
  if (!command.source.empty() && folder.spools.empty()) {
    return Fail(ErrorCode::kNotFound, folder.path, ": no spool of the source ",
                ShownSource(command.source), "; usage: unshard spool export DIRECTORY SOURCE");
  }
  std::vector<Exported> chosen;
  std::set<std::string> sources;
  for (const FoundSpool& spool : folder.spools) {
    if (to == spool.source || to.starts_with(spool.source + "/")) {
      return Fail(ErrorCode::kInvalidArgument, to,
                  ": is the source of these chunks; name another directory");
    }
    UNSHARD_ASSIGN_OR_RETURN(auto files, OpenPosixFileSystem(folder.path + "/" + spool.path));
    UNSHARD_ASSIGN_OR_RETURN(SpoolContents contents, ReadSpool(*files));
    if (HoldsNothing(contents)) continue;
    sources.insert(spool.source);
    chosen.push_back({std::move(files), std::move(contents)});
  }
  if (sources.size() <= 1) return chosen;
  std::string names;
  for (const std::string& source : sources) names += "\n  " + source;
  return Fail(ErrorCode::kInvalidArgument, folder.path, ": holds chunks of ", sources.size(),
              " sources; name one of them:", names);
}

int Export(const SpoolCommand& command, const OpenedFolder& folder) {
  const std::string directory = AbsolutePath(command.directory);
  const auto chosen = ChooseExports(command, folder, directory);
  if (!chosen) return ReportFailure(chosen.error());
  const auto to = MakeFolder(directory, NewFiles::kShared);
  if (!to) return ReportFailure(to.error());
  ExportReport report;
  for (const Exported& spool : *chosen) {
    if (const Status done = ExportSpool(*spool.files, spool.contents, **to, report); !done) {
      return ReportFailure(done.error());
    }
  }
  std::cout << Counted(report.chunks, "chunk") << " (" << ReadableBytes(report.bytes) << "), "
            << Counted(report.removals, "removal") << ", " << Counted(report.conflicts, "conflict");
  if (report.damaged > 0) std::cout << ", " << report.damaged << " damaged";
  std::cout << "\n";
  for (const std::string& problem : report.problems) {
    std::cerr << "unshard: " << Printable(problem) << "\n";
  }
  return report.problems.empty() ? 0 : 1;
}

// Removes the spools of dead mounts that hold nothing: the number.
Result<std::uint64_t> RemoveEmpty(const OpenedFolder& folder) {
  std::uint64_t count = 0;
  for (const FoundSpool& spool : folder.spools) {
    if (spool.alive) continue;
    UNSHARD_ASSIGN_OR_RETURN(const auto contents, ReadSpool(folder.path + "/" + spool.path));
    if (!HoldsNothing(contents)) continue;
    UNSHARD_ASSIGN_OR_RETURN(const bool removed, RemoveEmptySpool(*folder.files, spool));
    if (removed) ++count;
  }
  return count;
}

// Removes what was quarantined, and spools that are empty then.
int Drop(const SpoolCommand& command, const OpenedFolder& folder) {
  if (command.all != command.chunks.empty()) {
    std::cerr << "unshard: spool drop: expected the names of quarantined chunks, as `unshard spool "
                 "list -v` prints them, or --all\n";
    return kWrongArguments;
  }
  std::set<std::string> missing(command.chunks.begin(), command.chunks.end());
  std::uint64_t count = 0;
  for (const FoundSpool& spool : folder.spools) {
    const auto files = OpenPosixFileSystem(folder.path + "/" + spool.path);
    if (!files) return ReportFailure(files.error());
    auto contents = ReadSpool(**files);
    if (!contents) return ReportFailure(contents.error());
    std::vector<SpoolFile> dropped;
    for (const auto* kept : {&contents->conflicts, &contents->damaged}) {
      for (const SpoolFile& file : *kept) {
        const std::string name = JoinPath(file.chunk.dataset, file.chunk.chunk);
        if (!command.all && std::count(command.chunks.begin(), command.chunks.end(), name) == 0) {
          continue;
        }
        missing.erase(name);
        dropped.push_back(file);
      }
    }
    const auto done = DropQuarantined(**files, dropped);
    if (!done) return ReportFailure(done.error());
    count += *done;
  }
  for (const std::string& name : missing) {
    std::cerr << "unshard: " << Printable(name) << ": no such chunk is quarantined for "
              << Printable(command.source) << "; see `unshard spool list -v`\n";
  }
  std::cout << Counted(count, "quarantined chunk") << " dropped\n";
  const auto emptied = RemoveEmpty(folder);
  if (!emptied) return ReportFailure(emptied.error());
  if (*emptied > 0) std::cout << Counted(*emptied, "empty spool") << " removed\n";
  return missing.empty() ? 0 : 1;
}

}  // namespace

int RunSpool(const SpoolCommand& command) {
  StartLog(LogSink::kStandardError, LogLevel::kWarning);
  const auto folder = OpenFolder(command);
  if (!folder) return ReportFailure(folder.error());
  // An export says more of what is missing.
  if (command.action != SpoolCommand::Action::kExport) {
    if (const Status known = ExpectSource(command, *folder); !known) {
      return ReportFailure(known.error());
    }
  }
  switch (command.action) {
    case SpoolCommand::Action::kList:
      return List(command, *folder);
    case SpoolCommand::Action::kPublish:
      return PublishLeft(command, *folder);
    case SpoolCommand::Action::kExport:
      return Export(command, *folder);
    case SpoolCommand::Action::kDrop:
      return Drop(command, *folder);
  }
  return 1;
}

}  // namespace unshard
