// Directories with names that are made of the paths of the source's arrays: an array at "a/b" has
// files "b.SUFFIX" in a directory "a".
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "codec/core/error.h"
#include "fs/tree/entry.h"
#include "fs/tree/node.h"

namespace unshard {

// One of these directories: of the arrays below `arrays` ("": the source).
class ArraysDirectory : public Directory {
 public:
  // More arrays may be found at any time.
  [[nodiscard]] bool ListingIsKept() const final { return false; }

 protected:
  ArraysDirectory(Superblock& superblock, NodeId id, std::uint64_t inode, std::string arrays)
      : Directory(superblock, id, inode), arrays_(std::move(arrays)) {}
  [[nodiscard]] const std::string& arrays() const { return arrays_; }
  // The names of the files of the array at a path.
  using FilesOfArray = std::function<std::vector<std::string>(const std::string& array)>;
  // The paths of the arrays in here and below.
  using FoundArrays = std::function<std::vector<std::string>()>;
  // Lists the files of those that are directly in here, and the directories of those further below.
  // A listing that is read in pieces calls the two functions when it begins.
  Status ListArrays(const FoundArrays& found, const FilesOfArray& files_of,
                    const Listing& listing) const;

 private:
  const std::string arrays_;
};

}  // namespace unshard
