// The folder in which mounts have their spools: taking over what dead mounts of the same source
// left there, and making a new one.
#pragma once

#include "fs/mount_options.h"
#include "fs/volume_fs.h"

namespace unshard {

// Makes the folder where it is missing. The first spool is this mount's own: a dead mount's, or a
// new one. Fails, naming the folder, where there can be none.
Result<VolumeFs::Writing> OpenSpools(const MountOptions& options);

// Removes this mount's spool folders that hold nothing any more. To be called while the spools are
// still open, so that nobody else takes them over meanwhile.
void RemoveEmptySpools(const VolumeFs::Writing& writing);

}  // namespace unshard
