// Records the spools of a writable mount in a file, for `unshard umount` to find after the mount's
// process was killed: the kernel only knows its source and its mount point.
#pragma once

#include <string>
#include <vector>

namespace unshard {

// A small file below /run/unshard (root) or $XDG_RUNTIME_DIR/unshard, which is removed with this
// object: it stays only where the process is killed. Where it cannot be written nothing is
// recorded.
class MountRecord {
 public:
  MountRecord(const std::string& mount_point, const std::vector<std::string>& spools);
  ~MountRecord();
  MountRecord(const MountRecord&) = delete;
  MountRecord& operator=(const MountRecord&) = delete;

 private:
  std::string path_;  // "" where there is none
};

// The spools that were recorded for a mount point, which may be dead; empty where nothing was. The
// record is removed.
std::vector<std::string> TakeMountRecord(const std::string& mount_point);

}  // namespace unshard
