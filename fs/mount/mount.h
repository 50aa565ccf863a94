// Opens a source as a VolumeFs, without any FUSE.
#pragma once

#include <memory>

#include "fs/change_queue.h"
#include "fs/common/mount_options.h"
#include "fs/volume_fs.h"

namespace unshard {

// Opens the source and searches it for datasets. Starts the watching thread, so call it after
// daemonising. Fails, naming the reason, where there is nothing to mount. Events go to `changes`,
// which must outlive the result.
Result<std::unique_ptr<VolumeFs>> OpenVolume(const MountOptions& options, ChangeQueue& changes);

// Logs a line for each spool with chunks of this source that no mount is going to publish: a
// read-only mount does not present them ("shown here"), and a copy does not have them ("copied").
void WarnOfUnpublished(const VolumeOptions& options, const char* not_done);

}  // namespace unshard
