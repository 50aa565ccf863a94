// Directories of this computer, and of network file systems that it has mounted, as sources.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "codec/array/document_names.h"
#include "store/local/file_store.h"
#include "store/local/inotify_watcher.h"
#include "store/local/local_replacer.h"
#include "store/local/network_file_system.h"
#include "store/local/posix_file_system.h"
#include "store/object/log.h"
#include "store/source/source.h"
#include "store/source/zip_place.h"
#include "store/zip/entered_archives.h"

namespace unshard {
namespace {

constexpr std::size_t kMinDescriptors = 16;
constexpr std::size_t kMaxDescriptors = 65536;
// With fewer, calls fail for want of one although no program has a file open.
constexpr rlim_t kSufficientDescriptors = 64;

// Raises the soft limit of open files to the hard one; half of it is for shards.
std::size_t DescriptorBudget(const std::string& source) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMinDescriptors;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMinDescriptors;
  if (limit.rlim_cur < kSufficientDescriptors) {
    LogWarning(source + ": this process may have only " + std::to_string(limit.rlim_cur) +
               " files open (ulimit -n): reading may fail, and written chunks may stay in the "
               "spool; allow at least " +
               std::to_string(kSufficientDescriptors));
  }
  return std::clamp<std::size_t>(limit.rlim_cur / 2, kMinDescriptors, kMaxDescriptors);
}

Result<std::unique_ptr<ChangeWatcher>> MakeWatcher(const VolumeOptions& options,
                                                   const ChangeWatcher::Listener& on_change,
                                                   const std::shared_ptr<OwnMount>& own) {
  if (!on_change || options.watch == WatchMode::kOff || options.immutable) return MakeNullWatcher();
  if (options.enters_zips) return MakeNullWatcher();  // it reports no changes in an archive
  if (IsNetworkFileSystem(options.source)) {
    LogInfo(options.source +
            ": a network file system reports no changes by inotify; it is revalidated every " +
            std::to_string(options.ttl_milliseconds) + " ms");
    return MakeNullWatcher();
  }
  auto watcher = MakeInotifyWatcher(options.source, on_change, own);
  if (watcher) return watcher;
  const int why = watcher.error().system_errno;
  constexpr std::array kUnavailable = {EMFILE, ENFILE, ENOMEM, ENOSYS, EAGAIN};
  if (std::ranges::find(kUnavailable, why) == kUnavailable.end()) return watcher;
  LogWarning(watcher.error().message + "; changes are looked for every " +
             std::to_string(options.ttl_milliseconds) + " ms");
  return MakeNullWatcher();
}

// The directory of a scale, or of an array's chunks, holds no metadata: the dataset is above it.
// "" where none is.
std::string DatasetAbove(const std::string& source) {
  constexpr int kMostLevels = 4;
  std::filesystem::path above = std::filesystem::path(source).lexically_normal();
  for (int i = 0; i < kMostLevels && above.has_relative_path(); ++i) {
    above = above.parent_path();
    for (const Dialect dialect : kDialects) {
      std::error_code failed;
      const auto document = above / ArrayDocumentName(dialect);
      if (std::filesystem::is_regular_file(document, failed)) return above.string();
    }
  }
  return "";
}

Status CheckSource(const std::string& source) {
  struct stat info {};
  const bool found = stat(source.c_str(), &info) == 0;
  if (found && S_ISDIR(info.st_mode) && access(source.c_str(), R_OK | X_OK) == 0) return {};
  const bool is_file = found && !S_ISDIR(info.st_mode);
  Error error = FailErrno(is_file ? ENOTDIR : errno, source).value();
  error.message += error.system_errno == EACCES
                       ? "; ask its owner for the right to read, or work as a user who has it"
                       : "; name the directory of a dataset, or one above several";
  if (is_file) error.message += "; names of ZIP archives end with .ozx or .zip, or with |zip:";
  return tl::unexpected<Error>(std::move(error));
}

Result<SourceParts> OpenDirectorySource(const VolumeOptions& options,
                                        const ChangeWatcher::Listener& on_change) {
  const std::string& source = options.source;
  UNSHARD_RETURN_IF_ERROR(CheckSource(source));
  SourceParts parts;
  parts.own_mount = std::make_shared<OwnMount>();
  UNSHARD_ASSIGN_OR_RETURN(parts.store,
                           OpenFileStore(source, DescriptorBudget(source), parts.own_mount));
  UNSHARD_ASSIGN_OR_RETURN(auto watcher, MakeWatcher(options, on_change, parts.own_mount));
  parts.watcher = std::make_shared<WatchMonitor>(std::move(watcher));
  parts.advice = [source]() -> std::string {
    const std::string above = DatasetAbove(source);
    if (above.empty()) return "name the directory of a dataset, or one above several";
    return above + " has such a file: name that directory instead";
  };
  if (options.enters_zips) {
    parts.store = std::make_shared<EnteredArchives>(parts.store, ZipOptionsOf(options));
    return parts;
  }
  if (options.read_only) return parts;
  UNSHARD_ASSIGN_OR_RETURN(parts.files,
                           OpenPosixFileSystem(source, NewFiles::kShared, parts.own_mount));
  parts.replacer = MakeLocalReplacer(parts.files);
  return parts;
}

}  // namespace

SourceKind DirectorySource() {
  return {.schemes = {""}, .is_written = true, .open = OpenDirectorySource};
}

}  // namespace unshard
