#include "fs/mount.h"

#include <sys/resource.h>

#include <algorithm>

#include "fs/spool_folder.h"
#include "store/file_store.h"
#include "store/log.h"

namespace unshard {
namespace {

constexpr std::size_t kMinDescriptors = 16;
constexpr std::size_t kMaxDescriptors = 65536;

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
                                                   ChangeQueue& changes) {
  if (options.watch == WatchMode::kOff || options.immutable) return MakeNullWatcher();
  if (IsNetworkFileSystem(options.source)) {
    LogInfo(options.source +
            ": a network file system tells nobody of changes; looking again every " +
            std::to_string(options.ttl_milliseconds) + " ms");
    return MakeNullWatcher();
  }
  return MakeInotifyWatcher(options.source,
                            [&](const ChangeWatcher::Event& event) { changes.Push(event); });
}

}  // namespace

Result<std::unique_ptr<VolumeFs>> OpenVolume(const MountOptions& options, ChangeQueue& changes) {
  VolumeFs::Parts parts;
  UNSHARD_ASSIGN_OR_RETURN(parts.store, OpenFileStore(options.source, DescriptorBudget()));
  UNSHARD_ASSIGN_OR_RETURN(auto watcher, MakeWatcher(options, changes));
  parts.watcher = std::make_shared<WatchMonitor>(std::move(watcher));
  // Of the memory cap three eighths are for index pages and a quarter for decoded chunks; the rest
  // is for what is under way.
  parts.indexes = std::make_shared<IndexCache>(options.memory_bytes / 8 * 3);
  parts.decoded = std::make_shared<ByteBudgetCache>(options.memory_bytes / 4);
  DatasetTreeOptions tree_options;
  tree_options.morton = options.morton;
  tree_options.shards.max_index_bytes = options.memory_bytes / 8;
  tree_options.shards.max_wrapped_bytes = options.memory_bytes / 4;
  tree_options.shards.generation_count_limit = kGenerationCountLimit;
  tree_options.shards.ttl_milliseconds = options.ttl_milliseconds;
  tree_options.shards.immutable = options.immutable;
  if (!options.read_only) {
    UNSHARD_ASSIGN_OR_RETURN(parts.files, OpenPosixFileSystem(options.source));
    parts.written = std::make_shared<WrittenChunks>();
    tree_options.unpublished = parts.written;
  }
  parts.datasets =
      std::make_shared<DatasetTree>(parts.store, parts.watcher, parts.indexes, tree_options);
  UNSHARD_RETURN_IF_ERROR(parts.datasets->Discover());
  for (const FoundDataset& found : parts.datasets->found()) {
    LogDebug("found /" + found.path + ": " + found.format +
             (found.description.empty() ? "" : ": " + found.description));
  }
  auto fs = std::make_unique<VolumeFs>(std::move(parts), options);
  if (options.read_only) return fs;
  UNSHARD_ASSIGN_OR_RETURN(VolumeFs::Writing writing, OpenSpools(options));
  writing.drop_entry = [&changes](NodeId parent, const std::string& name) {
    changes.PushName(parent, name);
  };
  writing.look_again = [&changes](const std::string& key) { changes.Push({key, false}); };
  fs->StartWriting(std::move(writing));
  return fs;
}

}  // namespace unshard
