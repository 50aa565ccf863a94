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

// Whether one of the arrays is below `directory` ("": the source).
bool HasArraysBelow(const std::vector<std::string>& arrays, const std::string& directory);

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
  // Lists the files of those of `found` that are directly in here, and the directories of those
  // further below.
  Status ListArrays(const std::vector<std::string>& found, const FilesOfArray& files_of,
                    const Listing& listing) const;

 private:
  const std::string arrays_;
};

}  // namespace unshard
