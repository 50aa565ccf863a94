// The folder in which mounts have their spools: taking over what dead mounts of the same source
// left there, and making a new one.
#pragma once

#include "fs/common/mount_options.h"
#include "fs/volume_fs.h"

namespace unshard {

// Makes the folder where it is missing, for its owner alone (0700), and durable. The first spool is
// this mount's own: a dead mount's, or a new one. What dead mounts of another source with the same
// path left is not touched; a line in the log says so. Fails, naming the folder, where there can be
// none, and where the folder is another user's or others may enter it.
Result<VolumeFs::Writing> OpenSpools(const MountOptions& options);

// The directory at an absolute path, made where it is missing with all above it, each durable
// before the next.
Result<std::shared_ptr<FileSystem>> MakeFolder(const std::string& given, NewFiles modes);

// Removes this mount's spool folders that hold nothing any more. To be called while the spools are
// still open, so that nobody else takes them over meanwhile.
void RemoveEmptySpools(const VolumeFs::Writing& writing);

// Logs a line for each spool in which chunks of this source wait that no mount is going to publish:
// a read-only mount does not show them.
void WarnOfUnpublished(const MountOptions& options);

}  // namespace unshard
