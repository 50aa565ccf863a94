// Writing of whole new files, so that nobody ever sees half of one.
#pragma once

#include <string>

#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

// Makes the file `path` with these bytes, and its parent directories: written under a temporary
// name beside it and renamed. Replaces a file that is there. Fails naming the file, and then leaves
// no temporary file. Not durable against power loss. Thread-safe for different paths.
Status WriteNewFile(const std::string& path, ByteSpan bytes);

}  // namespace unshard
