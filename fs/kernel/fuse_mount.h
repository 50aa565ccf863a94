// Operations on a mount of unshard, its own or that of another process, which may never answer:
// none of them waits for it without a limit.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "store/local/mount_table.h"

namespace unshard {

// Whether a mount is one of unshard.
inline bool IsOurs(const MountEntry& mount) { return mount.type == "fuse.unshard"; }

// The absolute path of a mount point as the table spells it. Resolves links in all components but
// does not ask the file system that is mounted there.
std::string MountPointPath(const std::string& path);

// N where the mount point is spelled /dev/fd/N: the caller has opened /dev/fuse as descriptor N,
// has mounted it, and passes it to a daemon that need not be able to mount.
std::optional<int> PassedDevice(const std::string& mount_point);

struct MountHealth {
  enum class State {
    kAnswers,
    kDead,    // its process is gone
    kSilent,  // does not answer, although a process that may serve it runs
  };
  State state = State::kSilent;
  std::vector<pid_t> servers;  // kSilent: the processes that may serve it, as far as they are seen
};
// Sends a request to the mount from a process of its own, which may be left waiting. Takes at most
// twenty seconds.
MountHealth HealthOf(const MountEntry& mount);

// Aborts the connection of a FUSE mount: pending and later requests fail with ECONNABORTED. The
// mount itself stays. Fails with kPermissionDenied where neither /sys/fs/fuse/connections nor
// umount2(2) lets the caller do it.
Status AbortConnection(const MountEntry& mount);
// Opens the file that aborts this connection, and no later one of the same number, when it is
// written to; -1 where the caller has no access to it.
int OpenAbortFile(const MountEntry& mount);

// Aborts the connection of a mount whose process is gone, and unmounts it, even where programs have
// their working directory in it.
Status RemoveDeadMount(const MountEntry& mount);

// Processes, as seen from here, that have files of this mount open or their working directory in
// it: "bash (123)". Only those that the caller may inspect.
std::vector<std::string> HoldersOf(const MountEntry& mount);

}  // namespace unshard
