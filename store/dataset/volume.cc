#include "store/dataset/volume.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "store/dataset/memory_shares.h"
#include "store/local/file_store.h"
#include "store/local/inotify_watcher.h"
#include "store/local/local_replacer.h"
#include "store/local/network_file_system.h"
#include "store/local/posix_file_system.h"
#include "store/object/log.h"

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

Result<std::unique_ptr<ChangeWatcher>> MakeWatcher(const VolumeOptions& options,
                                                   const Volume::OnChange& on_change,
                                                   const std::shared_ptr<OwnMount>& own) {
  if (!on_change || options.watch == WatchMode::kOff || options.immutable) return MakeNullWatcher();
  if (IsNetworkFileSystem(options.source)) {
    LogInfo(options.source +
            ": a network file system tells nobody of changes; looking again every " +
            std::to_string(options.ttl_milliseconds) + " ms");
    return MakeNullWatcher();
  }
  return MakeInotifyWatcher(options.source, on_change, own);
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

Result<std::unique_ptr<Volume>> Volume::Open(const VolumeOptions& options, OnChange on_change) {
  UNSHARD_RETURN_IF_ERROR(CheckSource(options.source));
  VolumeParts parts;
  parts.own_mount = std::make_shared<OwnMount>();
  UNSHARD_ASSIGN_OR_RETURN(parts.store,
                           OpenFileStore(options.source, DescriptorBudget(), parts.own_mount));
  UNSHARD_ASSIGN_OR_RETURN(auto watcher, MakeWatcher(options, on_change, parts.own_mount));
  parts.watcher = std::make_shared<WatchMonitor>(std::move(watcher));
  const MemoryShares memory(options.memory_bytes);
  parts.indexes = std::make_shared<IndexCache>(memory.index_cache);
  parts.decoded = std::make_shared<ByteBudgetCache>(memory.decoded_cache);
  parts.reader = std::make_shared<ChunkReader>(parts.decoded, memory.chunk, parts.reads);
  DatasetTreeOptions tree_options;
  tree_options.morton = options.morton;
  tree_options.view = FindView(options.view);
  tree_options.max_directories = options.searched_ahead;
  tree_options.shards.max_index_bytes = memory.index;
  tree_options.shards.max_wrapped_bytes = memory.wrapped_shard;
  tree_options.shards.ttl_milliseconds = options.ttl_milliseconds;
  tree_options.shards.immutable = options.immutable;
  if (!options.read_only) {
    UNSHARD_ASSIGN_OR_RETURN(
        parts.files, OpenPosixFileSystem(options.source, NewFiles::kShared, parts.own_mount));
    parts.replacer = MakeLocalReplacer(parts.files);
    parts.written = std::make_shared<CommittedVersions>();
    tree_options.unpublished = parts.written;
  }
  parts.datasets = std::make_shared<DatasetTree>(parts.store, parts.watcher, parts.indexes,
                                                 parts.reader, tree_options);
  UNSHARD_RETURN_IF_ERROR(Discover(*parts.datasets, options.source));
  for (const FoundDataset& found : parts.datasets->found()) {
    LogDebug("/" + found.path + ": found: " + found.format +
             (found.description.empty() ? "" : ": " + found.description));
  }
  auto volume = std::make_unique<Volume>(std::move(parts), options);
  if (options.read_only) return volume;
  UNSHARD_ASSIGN_OR_RETURN(OpenedSpools spools, OpenSpools(options));
  volume->StartWriting(std::move(spools), on_change);
  return volume;
}

Volume::Volume(VolumeParts parts, const VolumeOptions& options)
    : parts_(std::move(parts)), options_(options) {}

Volume::~Volume() {
  writes_.reset();
  if (parts_.written) parts_.written->Clear();
}

void Volume::StartWriting(OpenedSpools spools, const OnChange& on_change) {
  spools_ = std::move(spools);
  WritePipeline::Parts parts;
  parts.replacer = parts_.replacer;
  parts.datasets = parts_.datasets;
  parts.written = parts_.written;
  parts.spools = spools_.spools;
  parts.spool_path = spools_.paths.front();
  if (on_change)
    parts.on_renewed = [on_change](const std::string& key) { on_change({key, false}); };
  writes_ = std::make_unique<WritePipeline>(std::move(parts), options_);
  writes_->Replay();
}

}  // namespace unshard
