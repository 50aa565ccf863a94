// The datasets of a tree of groups, and the files beside them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/dataset/view_source.h"

namespace unshard {

struct DatasetMember {
  std::string path;  // below the root; "": the root itself
  ViewSource source;
};

// A directory with files that belong to no array.
struct FileDirectory {
  enum class Kind {
    kPlain,    // the files directly in it
    kObjects,  // all below it, which an `info` of its own describes: precomputed meshes, skeletons,
               // annotations, segment properties
  };
  std::string path;
  Kind kind = Kind::kPlain;
  // kPlain: the metadata documents in it are those of a dataset or a group, and none of the files.
  bool has_documents = false;
};

// A dataset that is not copied, since it cannot be read here, or said in the format of the copy.
struct SkippedMember {
  std::string path;
  Error reason;  // names it
};

struct DatasetMembers {
  std::vector<DatasetMember> datasets;  // arrays and pyramids, each before those below it
  std::vector<DatasetMember> groups;    // that have documents
  std::vector<FileDirectory> files;
  std::vector<SkippedMember> skipped;  // none of the above, with all that lies below
};

// All below the root: what lies in a group, and what lies in a pyramid beside its levels. The
// directories of arrays and levels are not searched. Empty where there is no dataset. `catalog`:
// null where the store lists. A store that does not has a dataset at its root, what the metadata of
// a pyramid mention (the labels of OME-Zarr need no mention), and no files. What is not supported
// is skipped, unless it is the root. Fails, naming document and field, where one cannot be read,
// and with kResourceExhausted where there are more directories than any tree has. What is at or
// below the paths `excluded` is left out. Fails with kNotFound if such a path is no directory that
// would otherwise be searched.
Result<DatasetMembers> FindMembers(ObjectStore& store, CatalogStore* catalog,
                                   const std::set<std::string>& excluded = {});

// Whether a name is that of what publishing and copying leave when they are killed.
bool IsLeftOver(std::string_view name);

}  // namespace unshard
