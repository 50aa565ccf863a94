// The file systems that are mounted in a directory tree: mounting and unmounting make no event of
// inotify, and replace everything below a directory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/local/file_descriptor.h"
#include "store/object/own_mount.h"

namespace unshard {

// Of one thread.
class MountsBelow {
 public:
  // `directory`: a real path. `own`: not counted; null: there is no such mount.
  MountsBelow(const std::string& directory, std::shared_ptr<const OwnMount> own);

  // poll() reports POLLPRI on it once anything in the system was mounted or unmounted since it did
  // so last. -1 where this cannot be had.
  [[nodiscard]] int descriptor() const { return table_.get(); }
  // Reads the kernel's table: whether other file systems are mounted at or below the directory than
  // at the last call, or when this object was made.
  bool Changed();

 private:
  [[nodiscard]] std::vector<std::string> Read() const;

  const std::string directory_;  // as the table spells it
  const std::shared_ptr<const OwnMount> own_;
  const FileDescriptor table_;
  std::vector<std::string> mounts_;
};

}  // namespace unshard
