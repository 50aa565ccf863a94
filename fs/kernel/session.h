// The life of a mount: mount, serve, follow changes, unmount.
#pragma once

#include <functional>

#include "codec/core/error.h"
#include "fs/common/mount_options.h"

namespace unshard {

// Mounts and serves until the file system is unmounted or SIGTERM, SIGINT or SIGHUP arrives; both
// end in success. `on_mounted` is called once, when the kernel has accepted the mount; failures
// before that are returned. Runs in the calling process; starts threads.
Status ServeMount(const MountOptions& options, const std::function<void()>& on_mounted);

// Unmounts `mount_point`. Fails where it is no mount, or busy.
Status Unmount(const std::string& mount_point);
// The same at once, although programs may use it: the mount ends when the last of them does.
Status UnmountLazily(const std::string& mount_point);

}  // namespace unshard
