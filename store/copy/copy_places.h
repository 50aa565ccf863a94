// Where the members of a source are to lie in its destination, and what that cannot hold.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codec/array/array.h"
#include "store/copy/dataset_members.h"
#include "store/object/object_store.h"

namespace unshard {

// A level of a pyramid of the destination.
struct LevelPlace {
  std::string dataset;    // the path of the pyramid
  std::string directory;  // of the level
};
std::vector<LevelPlace> LevelPlacesOf(const std::vector<DatasetMember>& destination);

// Fails with kInvalidArgument, naming it, where a member of the source has the path of a level of
// the destination, or lies below one. `store`: the source.
Status CheckPlaces(ObjectStore& store, const DatasetMembers& source,
                   const std::vector<LevelPlace>& levels);

// The formats of a destination.
class FormatsByPath {
 public:
  // Requires: at least one dataset.
  explicit FormatsByPath(const std::vector<DatasetMember>& destination);
  // That of the dataset at `path` or the next above it; else of the first one.
  [[nodiscard]] Dialect At(std::string path) const;

 private:
  std::map<std::string, Dialect> formats_;
};

// The directories of `source.files` whose files the destination can hold: precomputed objects go
// only beside precomputed volumes.
std::vector<FileDirectory> FilesToCopy(const DatasetMembers& source, const FormatsByPath& formats);

// What of the source is not copied since the format of the destination cannot hold it, in one line
// for each kind; empty where that is nothing. `store`: the source.
std::vector<std::string> LossesOf(ObjectStore& store, const DatasetMembers& source,
                                  const FormatsByPath& formats);

}  // namespace unshard
