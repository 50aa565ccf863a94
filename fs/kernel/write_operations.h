// libfuse's callbacks of requests that only writable mounts get.
#pragma once

#include "fs/kernel/operations.h"

namespace unshard {

// Puts them into `operations`: the kernel is answered ENOSYS to what is not there.
void AddWriteOperations(fuse_lowlevel_ops& operations);

}  // namespace unshard
