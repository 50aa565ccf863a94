// The file systems that are mounted in a directory tree: mounting and unmounting make no event of
// inotify, and replace everything below a directory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/local/file_descriptor.h"
#include "store/object/own_mount.h"

namespace unshard {

// Used by one thread.
class MountsBelow {
 public:
  // `directory`: a real path. `own`: not counted; null: there is no such mount.
  MountsBelow(std::string directory, std::shared_ptr<const OwnMount> own);

  // poll(2) reports POLLPRI on it once anything on the system was mounted or unmounted since the
  // last such report. -1 where /proc does not offer this.
  [[nodiscard]] int descriptor() const { return table_.get(); }
  // Reads the kernel's table: whether other file systems are mounted at or below the directory than
  // at the last call, or when this object was made. None are where the table cannot be read.
  bool Changed();

 private:
  // What tells a mount from others; its options may change.
  struct Mounted {
    std::uint64_t id = 0;
    unsigned major = 0;
    unsigned minor = 0;
    std::string root;
    std::string mount_point;
    friend bool operator==(const Mounted&, const Mounted&) = default;
  };
  [[nodiscard]] std::vector<Mounted> Read() const;

  const std::string directory_;
  const std::shared_ptr<const OwnMount> own_;
  const FileDescriptor table_;
  std::vector<Mounted> mounts_;
};

}  // namespace unshard
