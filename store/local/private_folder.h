// Folders that are made where they are missing, and those that no other user may enter.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "codec/core/error.h"
#include "store/local/file_system.h"
#include "store/local/posix_file_system.h"

namespace unshard {

// The directory at an absolute path, made where it is missing with all above it, each durable
// before the next.
Result<std::shared_ptr<FileSystem>> MakeFolder(const std::string& given, NewFiles modes);

// A folder of this user alone (0700), made where it is missing as MakeFolder does. To be used
// through what is returned, which was checked: its path may lead to another user's later. Fails,
// calling it by `kind` ("spool folder") and ending with `way_out`, where it cannot be made, is
// another user's, or others may enter it.
struct PrivateFolder {
  std::string path;
  std::string_view kind;
  std::string_view way_out;
};
Result<std::shared_ptr<FileSystem>> MakePrivateFolder(const PrivateFolder& folder);

}  // namespace unshard
