#include "store/shard_lock.h"

namespace unshard {
namespace {

constexpr std::string_view kLockSuffix = ".__lock";
// Ends like a lock file, so that TensorStore does not list it.
constexpr std::string_view kVersionSuffix = ".new.__lock";
// Each time somebody else has published the shard, so that this is far beyond any contention.
constexpr int kAttempts = 10'000;

// The open file still has this name. Opened anew, because a network file system asks its server
// for a name only then.
Result<bool> HasName(FileSystem& files, const std::string& path, File& file) {
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> named, files.Open(path, {}));
  if (!named) return false;
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus there, named->Stat());
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus ours, file.Stat());
  return there.device == ours.device && there.inode == ours.inode;
}

}  // namespace

Result<ShardLock> ShardLock::Acquire(FileSystem& files, const std::string& key) {
  const std::string path = key + std::string(kLockSuffix);
  UNSHARD_ASSIGN_OR_RETURN(const auto shard, files.Stat(key));
  if (!shard) {
    const std::size_t slash = key.rfind('/');
    const std::string parent = slash == std::string::npos ? std::string() : key.substr(0, slash);
    UNSHARD_RETURN_IF_ERROR(MakeDirectories(files, parent));
  }
  for (int i = 0; i < kAttempts; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<File> file,
                             files.Open(path, {.write = true, .create = true}));
    UNSHARD_RETURN_IF_ERROR(file->Lock(/*wait=*/true));
    UNSHARD_ASSIGN_OR_RETURN(const bool ours, HasName(files, path, *file));
    if (!ours) continue;
    ShardLock lock(path, std::move(file), key + std::string(kVersionSuffix));
    // What stands in the lock file stays: it may be another writer's, who goes by its name alone.
    auto version =
        files.Open(lock.version_path_, {.write = true, .create = true, .truncate = true});
    if (!version) {
      lock.Remove(files);
      return tl::unexpected<Error>(std::move(version).error());
    }
    lock.version_ = *std::move(version);
    return lock;
  }
  return Fail(ErrorCode::kUnavailable, files.Describe(path) + ": other writers keep replacing it");
}

void ShardLock::Remove(FileSystem& files) {
  const auto is_ours = [&](const std::string& path, File& file) {
    const auto ours = HasName(files, path, file);
    return ours && *ours;
  };
  if (version_ && is_ours(version_path_, *version_)) {
    static_cast<void>(version_->Truncate(0));  // room, even if the name cannot be removed
    static_cast<void>(files.Remove(version_path_));
  }
  if (is_ours(path_, *file_)) static_cast<void>(files.Remove(path_));
}

std::string_view WithoutLockSuffix(std::string_view key) {
  for (const std::string_view suffix : {kVersionSuffix, kLockSuffix}) {
    if (key.ends_with(suffix)) return key.substr(0, key.size() - suffix.size());
  }
  return key;
}

}  // namespace unshard
