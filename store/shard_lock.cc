#include "store/shard_lock.h"

namespace unshard {
namespace {

constexpr std::string_view kLockSuffix = ".__lock";
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
    ShardLock lock(path, std::move(file));
    if (Status emptied = lock.file_->Truncate(0); !emptied) {
      lock.Remove(files);
      return tl::unexpected<Error>(std::move(emptied).error());
    }
    return lock;
  }
  return Fail(ErrorCode::kUnavailable, files.Describe(path) + ": other writers keep replacing it");
}

void ShardLock::Remove(FileSystem& files) {
  const auto ours = HasName(files, path_, *file_);
  if (!ours || !*ours) return;
  static_cast<void>(file_->Truncate(0));  // room, even if the name cannot be removed
  static_cast<void>(files.Remove(path_));
}

}  // namespace unshard
