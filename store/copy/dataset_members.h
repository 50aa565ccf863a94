// The datasets of a tree of groups.
#pragma once

#include <string>
#include <vector>

#include "store/dataset/view_source.h"

namespace unshard {

struct DatasetMember {
  std::string path;  // below the root; "": the root is it
  ViewSource source;
};

struct DatasetMembers {
  std::vector<DatasetMember> datasets;  // arrays and pyramids, by path
  std::vector<DatasetMember> groups;    // above them, those that have documents
};

// The dataset at the root or, where that is a group, all below it; what lies in an array or a
// pyramid is not looked at. Empty where there are none. `catalog`: null where the store lists; a
// store that does not has no members but the root. Fails, naming document and field, where one
// cannot be read, and with kResourceExhausted where there are more than any tree has.
Result<DatasetMembers> FindMembers(ObjectStore& store, CatalogStore* catalog);

}  // namespace unshard
