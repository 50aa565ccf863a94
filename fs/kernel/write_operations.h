// libfuse's callbacks of requests that only writable mounts get.
#pragma once

#include "fs/kernel/operations.h"

namespace unshard {

// Adds them to `operations`: a request without a callback is answered with ENOSYS.
void AddWriteOperations(fuse_lowlevel_ops& operations);

}  // namespace unshard
