// A running mount seen from outside: requests of other processes through its control files.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "codec/core/error.h"
#include "fs/mount/mount_status.h"

namespace unshard {

// Fails with kNotFound where no mount of ours is, and with kUnavailable where its process is gone.
Result<MountStatus> ReadMountStatus(const std::string& mount_point);

// Asks the mount to publish all that was committed before the call, and waits for the answer. Calls
// `progress` about five times a second meanwhile. Fails with the errno that the mount answers.
Status FlushMount(const std::string& mount_point,
                  const std::function<void(const MountStatus&)>& progress);

// The process of a mount, to wait for its end; safe against another process that gets its id, and
// against one with this id in another pid namespace.
class WatchedProcess {
 public:
  explicit WatchedProcess(const MountStatus& status);
  ~WatchedProcess();
  WatchedProcess(const WatchedProcess&) = delete;
  WatchedProcess& operator=(const WatchedProcess&) = delete;
  // False where it still runs after that time.
  [[nodiscard]] bool WaitForEnd(int milliseconds) const;
  // Its id here; 0 where it cannot be seen from here.
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int descriptor_ = -1;
};

}  // namespace unshard
