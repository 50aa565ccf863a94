// Whether a path is still the name of a file that is open. While it is, no other file has its inode
// number.
#pragma once

#include <string>

#include "codec/core/error.h"
#include "store/local/file_system.h"

namespace unshard {

inline bool IsSameFile(const FileStatus& a, const FileStatus& b) {
  return a.device == b.device && a.inode == b.inode;
}

// False where `path` leads to another file by now, or to none. Fails where either cannot be asked.
Result<bool> IsNamed(FileSystem& files, const std::string& path, File& file);

}  // namespace unshard
