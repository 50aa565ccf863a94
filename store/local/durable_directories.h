// Directories whose names this process has fsynced, so that the next file in one of them costs no
// fsync of the directories above it.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>

#include "store/local/file_system.h"
#include "store/object/time_now.h"

namespace unshard {

// Of one file system. Other processes may make, remove and rename directories there: each of these
// changes st_ctime of the parent, which is fsynced again then. A parent that changed within the
// last clock tick is fsynced each time, since a later change may leave the same time. Thread-safe.
class DurableDirectories {
 public:
  // `now`: the clock of the file system.
  explicit DurableDirectories(std::function<timespec()> now = TimeNow) : now_(std::move(now)) {}

  // Makes the directory `path` and all above it that are missing, and fsyncs the names of those
  // that exist. A directory that this process may not open is left to whoever made it. Costs a stat
  // for each level where nothing has changed.
  Status Make(FileSystem& files, const std::string& path);

 private:
  // A directory before it was fsynced: the same as long as no name in it changes.
  struct Synced {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    timespec changed{};
  };
  Status SyncNamesIn(FileSystem& files, const std::string& path, bool has_new);
  [[nodiscard]] bool IsSynced(const std::string& path, const FileStatus& status) const;
  void Remember(const std::string& path, const FileStatus& status);

  const std::function<timespec()> now_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Synced> synced_;  // guarded by mutex_; at most kMostSynced
};

}  // namespace unshard
