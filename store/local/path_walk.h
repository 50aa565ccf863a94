// Resolving a path one component at a time.
#pragma once

#include <string>

#include "codec/core/error.h"
#include "store/local/file_descriptor.h"
#include "store/object/own_mount.h"

namespace unshard {

// Opens `path`, which begins at `directory`, with O_PATH. Follows symbolic links, also out of the
// directory. Nothing is looked up in `own` (null: no such mount): a path that comes upon it fails
// with ELOOP. An invalid descriptor where nothing is there.
Result<FileDescriptor> WalkPath(int directory, std::string path, const OwnMount* own);

// The real path of an open file; empty where it cannot be had.
std::string RealPath(int descriptor);

}  // namespace unshard
