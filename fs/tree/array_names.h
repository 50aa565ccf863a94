// Directories with names that are made of the paths of the source's arrays: an array at "a/b" has
// files "b.SUFFIX" in a directory "a".
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"
#include "fs/tree/entry.h"

namespace unshard {

// Whether one of the arrays is below `directory` ("": the source).
bool HasArraysBelow(const std::vector<std::string>& arrays, const std::string& directory);

// Lists the files of the arrays directly in `directory`, whose path in the mount is `shown_as` and
// whose st_ino is `inode`, and the directories of those further below. `files_of`: their names, of
// the array at a path.
using FilesOfArray = std::function<std::vector<std::string>(const std::string& array)>;
Status ListArrays(const std::vector<std::string>& arrays, const std::string& directory,
                  const std::string& shown_as, std::uint64_t inode, const FilesOfArray& files_of,
                  const Listing& listing);

}  // namespace unshard
