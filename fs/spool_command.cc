#include "fs/spool_command.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iostream>
#include <memory>
#include <set>
#include <vector>

#include "fs/mount.h"
#include "fs/mount_command.h"
#include "fs/paths.h"
#include "fs/readable.h"
#include "fs/spool_contents.h"
#include "fs/spool_folder.h"
#include "store/log.h"

namespace unshard {
namespace {

struct OpenedFolder {
  std::string path;
  std::shared_ptr<FileSystem> files;  // null where no mount has made it yet
  std::vector<FoundSpool> spools;     // of the source that was asked for
};

Result<OpenedFolder> OpenFolder(const SpoolCommand& command) {
  OpenedFolder folder;
  folder.path = AbsolutePath(command.folder.empty() ? DefaultSpoolFolder() : command.folder);
  auto files = OpenPosixFileSystem(folder.path);
  if (!files) {
    if (command.folder.empty() && files.error().system_errno == ENOENT) return folder;
    return tl::unexpected<Error>(std::move(files).error());
  }
  folder.files = *std::move(files);
  UNSHARD_ASSIGN_OR_RETURN(auto found, FindSpools(*folder.files));
  const std::string source = command.source.empty() ? "" : AbsolutePath(command.source);
  for (FoundSpool& spool : found) {
    if (source.empty() || spool.source == source) folder.spools.push_back(std::move(spool));
  }
  return folder;
}

std::string TimeText(const timespec& time) {
  std::tm utc{};
  char text[32];
  gmtime_r(&time.tv_sec, &utc);
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text, length};
}

void PrintChunk(const SpoolFile& file) {
  std::cout << "    " << JoinPath(file.chunk.dataset, file.chunk.chunk) << "  "
            << (file.chunk.removed ? "removed" : Counted(file.chunk.size, "byte")) << "  "
            << TimeText(file.chunk.committed) << "  " << (file.conflict ? "conflict, " : "")
            << file.path << "\n";
}

Status PrintSpool(const OpenedFolder& folder, const FoundSpool& spool, bool verbose) {
  const std::string path = folder.path + "/" + spool.path;
  std::cout << path << "\n    source " << spool.source << "\n    "
            << (spool.alive ? "in use by " : "left by ") << spool.owner << "\n";
  UNSHARD_ASSIGN_OR_RETURN(const SpoolContents contents, ReadSpool(path));
  std::cout << "    " << Counted(contents.chunks.size(), "chunk") << ", "
            << ReadableBytes(contents.bytes) << ", "
            << Counted(contents.conflicts.size(), "conflict") << "\n";
  if (!verbose) return {};
  for (const SpoolFile& file : contents.chunks) PrintChunk(file);
  for (const SpoolFile& file : contents.conflicts) PrintChunk(file);
  return {};
}

int List(const SpoolCommand& command, const OpenedFolder& folder) {
  if (folder.spools.empty()) std::cout << "no spools in " << folder.path << "\n";
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

// What dead mounts have left.
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

// A mount in all but the kernel: opening it takes over what dead mounts have left.
Status PublishInto(const std::string& source, const std::string& folder) {
  MountOptions options;
  options.source = source;
  options.spool = folder;
  ChangeQueue changes;
  UNSHARD_ASSIGN_OR_RETURN(const auto fs, OpenVolume(options, changes));
  const Status flushed = fs->FlushAll();
  RemoveEmptySpools(fs->writing());
  return flushed;
}

int PublishLeft(const SpoolCommand& command, const OpenedFolder& folder) {
  for (const FoundSpool& spool : folder.spools) {
    if (spool.alive) std::cout << spool.path << ": in use by " << spool.owner << ", left to it\n";
  }
  const auto before = CountLeft(folder);
  if (!before) return ReportFailure(before.error());
  if (before->chunks == 0) {
    std::cout << "nothing to publish in " << folder.path << "\n";
    return 0;
  }
  const Status published = PublishInto(AbsolutePath(command.source), folder.path);
  int status = published ? 0 : ReportFailure(published.error());
  const auto again = OpenFolder(command);
  if (!again) return ReportFailure(again.error());
  const auto after = CountLeft(*again);
  if (!after) return ReportFailure(after.error());
  if (after->chunks > 0) {
    std::cerr << "unshard: " << Counted(after->chunks, "chunk") << " ("
              << ReadableBytes(after->bytes) << ") stay in " << folder.path << "\n";
    status = 1;
  }
  // A person has to look at these; those of earlier times were told of then.
  const std::uint64_t aside = after->conflicts - std::min(after->conflicts, before->conflicts);
  if (aside > 0) {
    std::cerr << "unshard: " << Counted(aside, "chunk")
              << " set aside, since somebody else has changed the source; see `unshard spool list "
                 "-v`\n";
    status = 1;
  }
  const std::uint64_t done = before->chunks - std::min(before->chunks, after->chunks + aside);
  std::cout << Counted(done, "chunk") << " taken over and published\n";
  return status;
}

int Export(const SpoolCommand& command, const OpenedFolder& folder) {
  std::set<std::string> sources;
  for (const FoundSpool& spool : folder.spools) sources.insert(spool.source);
  if (sources.size() > 1) {
    std::cerr << "unshard: " << folder.path << " holds chunks of " << sources.size()
              << " sources; name one of them\n";
    return 1;
  }
  const auto to = OpenPosixFileSystem(AbsolutePath(command.directory));
  if (!to) return ReportFailure(to.error());
  ExportReport report;
  for (const FoundSpool& spool : folder.spools) {
    const auto files = OpenPosixFileSystem(folder.path + "/" + spool.path);
    if (!files) return ReportFailure(files.error());
    const auto contents = ReadSpool(**files);
    if (!contents) return ReportFailure(contents.error());
    if (const Status done = ExportSpool(**files, *contents, **to, report); !done) {
      return ReportFailure(done.error());
    }
  }
  std::cout << Counted(report.chunks, "chunk") << " (" << ReadableBytes(report.bytes) << "), "
            << Counted(report.removals, "removal") << ", " << Counted(report.conflicts, "conflict")
            << "\n";
  for (const std::string& problem : report.problems) std::cerr << "unshard: " << problem << "\n";
  return report.problems.empty() ? 0 : 1;
}

}  // namespace

int RunSpool(const SpoolCommand& command) {
  StartLog(LogSink::kStandardError, LogLevel::kWarning);
  const auto folder = OpenFolder(command);
  if (!folder) return ReportFailure(folder.error());
  switch (command.action) {
    case SpoolCommand::Action::kList:
      return List(command, *folder);
    case SpoolCommand::Action::kPublish:
      return PublishLeft(command, *folder);
    case SpoolCommand::Action::kExport:
      return Export(command, *folder);
  }
  return 1;
}

}  // namespace unshard
