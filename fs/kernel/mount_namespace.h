// The mount namespace that this process is in, and who else is.
#pragma once

#include <sys/types.h>

#include <optional>

namespace unshard {

// Whether nobody could reach a mount of this namespace any more once all other processes have left
// it: it is not that of process 1, and no file keeps it (`unshare --mount=FILE`). False where /proc
// does not tell.
bool MountNamespaceEndsWithProcesses();

// A process of another program in this mount namespace, one that was started early; nothing where
// there is none. The caller itself where /proc does not show even that one.
std::optional<pid_t> OtherInMountNamespace();

}  // namespace unshard
