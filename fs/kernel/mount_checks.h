// What is decided and checked before a mount, so that its failures have a reason and a way out, and
// not only an errno of mount(2).
#pragma once

#include <string>

#include "codec/core/error.h"
#include "fs/common/mount_options.h"
#include "store/local/file_descriptor.h"

namespace unshard {

// Makes the mount read-only, with a warning, where the source directory cannot be written to, or
// where hosts that write into it would not see each other's locks. Fails with kReadOnly instead
// where `rw` was asked for. A URL is left as it is: its store decides when it is opened.
Status DecideWriting(MountOptions& options);

// Warns where other users may read the mount and not the source: access is checked against the
// modes that the mount presents, and not against those of the source.
void WarnOfOthers(const MountOptions& options);

// Whether a file system can be mounted there. Removes a mount of unshard whose process is gone;
// fails where another one is there, where it is no directory, and where there is no FUSE. A
// descriptor that is passed must be one of FUSE.
//
// Of several processes that mount there at once one goes on, until the descriptor that it gets is
// closed; the others wait, and then find its mount. No descriptor where the directory cannot be
// locked: the process may not read it, its file system has no such locks, or another program has
// held the lock for ten seconds.
Result<FileDescriptor> ClaimMountPoint(const std::string& mount_point);

}  // namespace unshard
