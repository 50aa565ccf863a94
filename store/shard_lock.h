// The lock file of a shard: whoever holds its lock is the only writer of the shard, and puts the
// new version into the same file. TensorStore's file driver does exactly this.
#pragma once

#include <memory>
#include <string>

#include "store/file_system.h"

namespace unshard {

// Used by one thread. The lock ends with this object.
class ShardLock {
 public:
  // Opens `<key>.__lock`, which is made where it is missing, waits for its lock, and opens the path
  // again: unless that is the same file, the one we have locked has been renamed onto the shard or
  // removed meanwhile, and we start over. The file is empty then. Missing directories above the
  // shard are made, and last. Fails with kUnavailable where others are always faster.
  static Result<ShardLock> Acquire(FileSystem& files, const std::string& key);

  [[nodiscard]] const std::shared_ptr<File>& file() const { return file_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  // Removes the lock file while it is still locked. What stands under its name and is not ours
  // stays. Failures mean only that the file is left behind, which harms nobody.
  void Remove(FileSystem& files);

 private:
  ShardLock(std::string path, std::shared_ptr<File> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  std::shared_ptr<File> file_;
};

}  // namespace unshard
