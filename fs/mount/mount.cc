#include "fs/mount/mount.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#include "fs/mount/spool_folder.h"
#include "store/local/file_store.h"
#include "store/object/log.h"

namespace unshard {
namespace {

constexpr std::size_t kMinDescriptors = 16;
constexpr std::size_t kMaxDescriptors = 65536;
// Of one open for writing that waits until the kernel has dropped the file's name.
constexpr std::chrono::seconds kLongestDrop{1};

// Raises the soft limit of open files to the hard one; half of it is for shards.
std::size_t DescriptorBudget() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMinDescriptors;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMinDescriptors;
  return std::clamp<std::size_t>(limit.rlim_cur / 2, kMinDescriptors, kMaxDescriptors);
}

Result<std::unique_ptr<ChangeWatcher>> MakeWatcher(const MountOptions& options,
                                                   ChangeQueue& changes,
                                                   const std::shared_ptr<OwnMount>& own) {
  if (options.watch == WatchMode::kOff || options.immutable) return MakeNullWatcher();
  if (IsNetworkFileSystem(options.source)) {
    LogInfo(options.source +
            ": a network file system tells nobody of changes; looking again every " +
            std::to_string(options.ttl_milliseconds) + " ms");
    return MakeNullWatcher();
  }
  return MakeInotifyWatcher(
      options.source, [&](const ChangeWatcher::Event& event) { changes.Push(event); }, own);
}

// The directory of a scale, or of an array's chunks, holds no metadata: the dataset is above it.
// "" where none is.
std::string DatasetAbove(const std::string& source) {
  constexpr int kMostLevels = 4;
  std::filesystem::path above = std::filesystem::path(source).lexically_normal();
  for (int i = 0; i < kMostLevels && above.has_relative_path(); ++i) {
    above = above.parent_path();
    for (const char* document : {"info", "zarr.json", ".zarray", "attributes.json"}) {
      std::error_code failed;
      if (std::filesystem::is_regular_file(above / document, failed)) return above.string();
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
  return tl::unexpected<Error>(std::move(error));
}

Status Discover(DatasetTree& datasets, const std::string& source) {
  Status discovered = datasets.Discover();
  if (discovered || discovered.error().code != ErrorCode::kNotFound) return discovered;
  const std::string above = DatasetAbove(source);
  discovered.error().message +=
      above.empty() ? "; name the directory of a dataset, or one above several"
                    : "; " + above + " has such a file: name that directory instead";
  return discovered;
}

}  // namespace

Result<std::unique_ptr<VolumeFs>> OpenVolume(const MountOptions& options, ChangeQueue& changes,
                                             std::size_t max_directories) {
  UNSHARD_RETURN_IF_ERROR(CheckSource(options.source));
  VolumeFs::Parts parts;
  parts.own_mount = std::make_shared<OwnMount>();
  UNSHARD_ASSIGN_OR_RETURN(parts.store,
                           OpenFileStore(options.source, DescriptorBudget(), parts.own_mount));
  UNSHARD_ASSIGN_OR_RETURN(auto watcher, MakeWatcher(options, changes, parts.own_mount));
  parts.watcher = std::make_shared<WatchMonitor>(std::move(watcher));
  // Of the memory cap three eighths are for index pages and a quarter for decoded chunks; the rest
  // is for what is under way.
  parts.indexes = std::make_shared<IndexCache>(options.memory_bytes / 8 * 3);
  parts.decoded = std::make_shared<ByteBudgetCache>(options.memory_bytes / 4);
  DatasetTreeOptions tree_options;
  tree_options.morton = options.morton;
  tree_options.max_directories = max_directories;
  tree_options.shards.max_index_bytes = options.memory_bytes / 8;
  tree_options.shards.max_wrapped_bytes = options.memory_bytes / 4;
  tree_options.shards.generation_count_limit = kGenerationCountLimit;
  tree_options.shards.ttl_milliseconds = options.ttl_milliseconds;
  tree_options.shards.immutable = options.immutable;
  if (!options.read_only) {
    UNSHARD_ASSIGN_OR_RETURN(
        parts.files, OpenPosixFileSystem(options.source, NewFiles::kShared, parts.own_mount));
    parts.written = std::make_shared<WrittenChunks>();
    tree_options.unpublished = parts.written;
  }
  parts.datasets =
      std::make_shared<DatasetTree>(parts.store, parts.watcher, parts.indexes, tree_options);
  UNSHARD_RETURN_IF_ERROR(Discover(*parts.datasets, options.source));
  for (const FoundDataset& found : parts.datasets->found()) {
    LogDebug("/" + found.path + ": found: " + found.format +
             (found.description.empty() ? "" : ": " + found.description));
  }
  auto fs = std::make_unique<VolumeFs>(std::move(parts), options);
  if (options.read_only) return fs;
  UNSHARD_ASSIGN_OR_RETURN(VolumeFs::Writing writing, OpenSpools(options));
  writing.drop_entry = [&changes, mount_point = options.mount_point](NodeId parent,
                                                                     const std::string& name) {
    if (changes.PushName(parent, name)) return;
    LogWarning(mount_point +
               ": changes come faster than the kernel takes them: names that it holds are no "
               "longer dropped, and some programs will have to look twice");
  };
  writing.await_drop = [&changes](NodeId parent, const std::string& name) {
    changes.WaitForName(parent, name, kLongestDrop);
  };
  writing.look_again = [&changes](const std::string& key) { changes.Push({key, false}); };
  fs->StartWriting(std::move(writing));
  return fs;
}

}  // namespace unshard
