// The lock file of a shard: the holder of its lock is the only writer of the shard. TensorStore's
// file driver takes the same lock. It puts the new version into the lock file itself, and does not
// mind what a dead writer left in it: we write nothing to it, and the new version is a file of its
// own.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "store/local/file_system.h"
#include "store/object/deadline.h"

namespace unshard {

// Of a shard, behind its key: the lock file, and the new version, which ends like a lock file so
// that TensorStore does not list it.
inline constexpr std::string_view kLockSuffix = ".__lock";
inline constexpr std::string_view kVersionSuffix = ".new.__lock";

// How long a lock that another writer holds is waited for, whatever the caller's deadline.
struct LockTimeouts {
  std::chrono::milliseconds notice{3000};  // then a warning says what is waited for
  std::chrono::milliseconds total{10000};  // then the wait fails
  std::chrono::milliseconds at_end{2000};  // the same once the caller's stop is requested
};

// Used by one thread. The lock ends with this object.
class ShardLock {
 public:
  // Opens `<key>.__lock`, which is made where it is missing, waits for its lock, and opens the path
  // again: unless that is the same file, the one we have locked has been renamed onto the shard or
  // removed meanwhile, and we start over. Then an empty file for the new version is made, and
  // whatever had its name is unlinked: other names of that file keep its bytes. The directory of
  // the shard has to be there. Fails with kUnavailable where the lock is not released in time, or
  // other writers are always faster.
  static Result<ShardLock> Acquire(FileSystem& files, const std::string& key,
                                   const LockTimeouts& timeouts = {},
                                   const Deadline& deadline = {});

  // Where the new version is put, to be renamed onto the shard.
  [[nodiscard]] const std::shared_ptr<File>& version() const { return version_; }
  [[nodiscard]] const std::string& version_path() const { return version_path_; }

  // Removes the lock file while it is still locked, and the new version unless that has been
  // renamed. Files of other processes under their names stay. Failures mean only that a file is
  // left behind, which does no harm.
  void Remove(FileSystem& files);

 private:
  ShardLock(std::string path, std::shared_ptr<File> file, std::string version_path)
      : path_(std::move(path)), file_(std::move(file)), version_path_(std::move(version_path)) {}

  std::string path_;
  std::shared_ptr<File> file_;
  std::string version_path_;
  std::shared_ptr<File> version_;
};

// The key of which `key` is the lock file or the unfinished version; any other key as it is.
std::string_view WithoutLockSuffix(std::string_view key);

}  // namespace unshard
