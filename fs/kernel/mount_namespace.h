// The mount namespace of this process, and the other processes in it.
#pragma once

#include <sys/types.h>

#include <optional>

namespace unshard {

// Whether mounts of this namespace become unreachable once all other processes have left it: it is
// not that of process 1, and no file keeps it (`unshare --mount=FILE`). False where /proc does not
// show it.
bool MountNamespaceEndsWithProcesses();

// A process of another program in this mount namespace; of several one with a low number. Nothing
// where there is none. The caller itself where /proc does not even show the caller: then other
// processes may be hidden as well.
std::optional<pid_t> OtherInMountNamespace();

}  // namespace unshard
