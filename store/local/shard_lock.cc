#include "store/local/shard_lock.h"

#include <algorithm>
#include <cerrno>
#include <thread>

#include "store/local/named_file.h"
#include "store/object/key.h"
#include "store/object/log.h"

namespace unshard {
namespace {

// Each time another writer has published the shard, so that this is far beyond any contention.
constexpr int kMostTurns = 10'000;

// The open file still has this name. Opened anew, because a network file system asks its server
// for a name only then.
Result<bool> HasName(FileSystem& files, const std::string& path, File& file) {
  UNSHARD_ASSIGN_OR_RETURN(const std::shared_ptr<File> named, files.Open(path, {}));
  if (!named) return false;
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus there, named->StatusAtOpen());
  UNSHARD_ASSIGN_OR_RETURN(const FileStatus ours, file.StatusAtOpen());
  return IsSameFile(there, ours);
}

// Polls: a thread that waits inside the kernel for a lock cannot be stopped.
Status WaitForLock(const std::string& described, File& file, const LockTimeouts& timeouts,
                   const Deadline& deadline) {
  using std::chrono::milliseconds;
  constexpr milliseconds kLongestPause{50};
  const auto begin = std::chrono::steady_clock::now();
  milliseconds pause{1};
  for (bool noticed = false;;) {
    UNSHARD_ASSIGN_OR_RETURN(const bool locked, file.Lock(/*wait=*/false));
    if (locked) return {};
    const auto now = std::chrono::steady_clock::now();
    const auto waited = now - begin;
    const bool ending = deadline.stop.stop_requested();
    const auto longest = ending ? std::min(timeouts.at_end, timeouts.total) : timeouts.total;
    if (waited >= longest || now >= deadline.at) {
      return Fail(ErrorCode::kUnavailable, described,
                  ": another process that writes this file holds its lock; the waiting chunks are "
                  "published once the lock is released");
    }
    if (!noticed && waited >= timeouts.notice) {
      noticed = true;
      LogWarning(
          described +
          ": publishing waits for this lock, which another process that writes the file holds");
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

// The lock file, which is made where it is missing, as it nearly always is.
Result<std::shared_ptr<File>> OpenLockFile(FileSystem& files, const std::string& path) {
  auto made = files.Open(path, {.write = true, .create = true, .exclusive = true});
  if (made || made.error().system_errno != EEXIST) return made;
  return files.Open(path, {.write = true, .create = true});
}

// An empty file under `path` that has no other name. What has this name, which a crash may have
// left, is unlinked and not written to: it may be a link to any file.
Result<std::shared_ptr<File>> MakeVersion(FileSystem& files, const std::string& path) {
  const OpenFlags anew{.write = true, .create = true, .exclusive = true};
  auto version = files.Open(path, anew);
  if (version || version.error().system_errno != EEXIST) return version;
  UNSHARD_RETURN_IF_ERROR(files.Remove(path));
  return files.Open(path, anew);
}

}  // namespace

Result<ShardLock> ShardLock::Acquire(FileSystem& files, const std::string& key,
                                     const LockTimeouts& timeouts, const Deadline& deadline) {
  const std::string path = key + std::string(kLockSuffix);
  for (int i = 0; i < kMostTurns; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<File> file, OpenLockFile(files, path));
    UNSHARD_RETURN_IF_ERROR(WaitForLock(files.Describe(path), *file, timeouts, deadline));
    UNSHARD_ASSIGN_OR_RETURN(const bool ours, HasName(files, path, *file));
    if (!ours) continue;
    ShardLock lock(path, std::move(file), key + std::string(kVersionSuffix));
    // The contents of the lock file stay: another writer may have written them, and identifies the
    // file by its name alone.
    auto version = MakeVersion(files, lock.version_path_);
    if (!version) {
      lock.Remove(files);
      return tl::unexpected<Error>(std::move(version).error());
    }
    lock.version_ = *std::move(version);
    return lock;
  }
  return Fail(ErrorCode::kUnavailable, files.Describe(path), ": other writers keep replacing it");
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
