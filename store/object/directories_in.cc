#include "store/object/directories_in.h"

#include <algorithm>

namespace unshard {

Result<std::vector<std::string>> DirectoriesIn(ObjectStore& store, std::string_view directory,
                                               std::size_t most, const Deadline& deadline) {
  std::vector<std::string> names;
  UNSHARD_RETURN_IF_ERROR(store.List(directory, deadline, [&](const ListEntry& entry) {
    if (entry.kind == ObjectInfo::Kind::kDirectory) names.emplace_back(entry.name);
    return names.size() <= most;
  }));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace unshard
