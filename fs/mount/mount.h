// Opens a source as a VolumeFs, without any FUSE: what the mount command and `info` have in common.
#pragma once

#include <memory>

#include "fs/change_queue.h"
#include "fs/common/mount_options.h"
#include "fs/volume_fs.h"

namespace unshard {

// Opens the source and searches it for datasets. Starts the watching thread, so call it after
// daemonising. Fails, naming what is wrong, where there is nothing to mount. Events go to
// `changes`, which must outlive the result. `max_directories` are searched ahead.
Result<std::unique_ptr<VolumeFs>> OpenVolume(const MountOptions& options, ChangeQueue& changes,
                                             std::size_t max_directories = kSearchedAhead);

}  // namespace unshard
