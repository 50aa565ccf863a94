// Notices changes in a directory of this machine by inotify.
#pragma once

#include <memory>
#include <string>

#include "codec/core/error.h"
#include "store/object/change_watcher.h"
#include "store/object/own_mount.h"

namespace unshard {

// Watches directories below `root`. Watch() is false for a directory where the system's limits are
// reached, and on a network file system. What is mounted or unmounted there is an event as well.
// The thread starts here and ends with the object. Nothing on the mount `own` is watched. Fails
// with EMFILE where the user has no instance of inotify left, with ENOSYS where the system has
// none, with EAGAIN where it allows no thread. After an error no events come, and Watch() is false.
Result<std::unique_ptr<ChangeWatcher>> MakeInotifyWatcher(
    const std::string& root, ChangeWatcher::Listener listener,
    std::shared_ptr<const OwnMount> own = nullptr);

// Watches nothing: Watch() is always false.
std::unique_ptr<ChangeWatcher> MakeNullWatcher();

}  // namespace unshard
