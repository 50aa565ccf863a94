// Keeps the directories open in which names are made and renamed again and again.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "codec/core/error.h"
#include "store/local/file_descriptor.h"
#include "store/local/root_directory.h"

namespace unshard {

// Of a tree in which no other process replaces directories: a directory that was renamed away would
// still be used under its old path. Thread-safe.
class OpenDirectories {
 public:
  using Descriptor = std::shared_ptr<const FileDescriptor>;

  explicit OpenDirectories(const RootDirectory& root) : root_(root) {}

  // The directory `path`, opened for reading. Null where it is missing.
  Result<Descriptor> Get(const std::string& path);
  // The path, or a directory below it, may not be what it was: it is opened anew.
  void Forget(const std::string& path);

 private:
  static constexpr std::size_t kMost = 16;

  const RootDirectory& root_;
  std::mutex mutex_;
  std::vector<std::pair<std::string, Descriptor>> open_;  // guarded by mutex_; the oldest first
};

}  // namespace unshard
