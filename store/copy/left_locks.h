// What copies that were killed leave beside the objects that they had replaced.
#pragma once

#include <string>

#include "store/local/file_system.h"
#include "store/object/object_replacement.h"

namespace unshard {

// Removes the lock file and the unfinished version of an object, unless another process is
// replacing it.
Status RemoveLeftLocks(FileSystem& files, ObjectReplacer& replacer, const std::string& key);

}  // namespace unshard
