// A directory of the local file system as a store.
#pragma once

#include <memory>
#include <string>

#include "store/object/object_store.h"
#include "store/object/own_mount.h"

namespace unshard {

// Opens the directory `root`. Keys cannot leave it: not by "..", not by symbolic links.
// Generation: device, inode, size, mtime and ctime in nanoseconds. Handles keep the file open
// (POSIX_FADV_RANDOM); at most `max_descriptors` files stay open for handles, the least recently
// used one is closed and reopened by key when needed, which gives kConditionFailed if the file has
// been replaced meanwhile. Nothing is asked of the mount `own`, also where it is below `root`.
Result<std::shared_ptr<ObjectStore>> OpenFileStore(const std::string& root,
                                                   std::size_t max_descriptors,
                                                   std::shared_ptr<const OwnMount> own = nullptr);

}  // namespace unshard
