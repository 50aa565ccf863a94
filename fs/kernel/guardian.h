// A process beside the daemon that aborts the connection where a killed daemon leaves it open.
//
// A daemon that is killed while one of its threads notifies the kernel of a changed name may stay
// in the kernel for ever: the thread waits for the lock of a directory, whose holder waits for an
// answer of the daemon. The kernel ends the requests that the daemon has read, unless they came
// over io_uring or that thread has no device of its own (fs/kernel/notifications.h). It does not
// end those that the daemon had not read. The guardian holds no device: where the daemon's main
// thread has ended and another one stays, it aborts the connection, and all requests fail with
// ECONNABORTED. The mount itself stays, so that no program writes into the directory below it.
//
// It also ends the daemon where no other process is left in a mount namespace below the machine's
// own (unshare -m): the daemon itself would keep the namespace, and so the mount, for ever.
//
// It waits for the signal of PR_SET_PDEATHSIG, which the kernel sends when the thread that started
// it ends: pipes and pidfds report an end only when no thread of the daemon is left.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "codec/core/error.h"
#include "store/local/file_descriptor.h"
#include "store/local/mount_table.h"

namespace unshard {

class Guardian {
 public:
  // Forks; called by the daemon's main thread, before other threads are started. The guardian
  // closes all files that it inherits, leaves the working directory and the session, and ignores
  // signals.
  static Result<std::unique_ptr<Guardian>> Start(const std::string& mount_point);
  // Ends the guardian without an abort.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  // Whether the daemon ends where only daemons of unshard are left in its mount namespace. A mount
  // that is propagated to other namespaces stays in any case.
  enum class WhenAlone : std::uint8_t { kStay, kEnd };
  // Starts to guard. Call it once the mount is in the kernel's table.
  Status Watch(const MountEntry& mount, WhenAlone when_alone);

 private:
  Guardian(std::string mount_point, pid_t process, FileDescriptor orders)
      : mount_point_(std::move(mount_point)), process_(process), orders_(std::move(orders)) {}

  const std::string mount_point_;
  const pid_t process_;
  FileDescriptor orders_;
};

}  // namespace unshard
