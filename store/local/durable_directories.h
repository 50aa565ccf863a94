// Directories that this process has made durable, so that the next file in one of them costs no
// fsync of the directories above it.
#pragma once

#include <cstdint>
#include <ctime>
#include <mutex>
#include <string>
#include <unordered_map>

#include "store/local/file_system.h"

namespace unshard {

// Of one file system, under which other processes may remove and rename directories. Thread-safe.
class DurableDirectories {
 public:
  // Makes the directory `path` and all above it that are missing. On return their names are
  // durable.
  Status Make(FileSystem& files, const std::string& path);

 private:
  // Another directory may get the inode number of one that was removed, but is born later.
  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    timespec born{};
  };
  Status MakeOne(FileSystem& files, const std::string& path);
  [[nodiscard]] bool IsKnown(const std::string& path, const FileStatus& status) const;
  void Remember(const std::string& path, const FileStatus& status);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Identity> known_;  // guarded by mutex_; at most kMostKnown
};

}  // namespace unshard
