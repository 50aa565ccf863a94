#include "store/copy/dataset_members.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "store/object/directories_in.h"
#include "store/object/key.h"

namespace unshard {
namespace {

constexpr std::size_t kMostDepth = 16;
constexpr std::size_t kMostDirectories = 100000;

class MemberWalk {
 public:
  MemberWalk(ObjectStore& store, CatalogStore* catalog) : store_(store), catalog_(catalog) {}

  Status Visit(const std::string& path, std::size_t depth) {
    if (++visited_ > kMostDirectories || depth > kMostDepth) {
      return Fail(ErrorCode::kResourceExhausted,
                  store_.Describe(path) +
                      ": too many directories in the group, or too deep: copy "
                      "the groups in it one by one");
    }
    UNSHARD_ASSIGN_OR_RETURN(auto source, ReadViewSource(store_, path, catalog_));
    if (source && !source->levels.empty()) {
      found_.datasets.push_back({path, *std::move(source)});
      return {};
    }
    // Directories between two groups need no document of their own in N5.
    if (source) found_.groups.push_back({path, *std::move(source)});
    if (!source && path.empty()) return {};
    return VisitMembers(path, depth);
  }

  DatasetMembers Take() {
    std::erase_if(found_.groups, [&](const DatasetMember& group) {
      return std::none_of(
          found_.datasets.begin(), found_.datasets.end(),
          [&](const DatasetMember& dataset) { return IsAtOrBelow(dataset.path, group.path); });
    });
    return std::move(found_);
  }

 private:
  Status VisitMembers(const std::string& path, std::size_t depth) {
    if (!store_.capabilities().lists) return {};
    UNSHARD_ASSIGN_OR_RETURN(const auto names,
                             DirectoriesIn(store_, path, kMostDirectories, CallerDeadline()));
    for (const std::string& name : names) {
      UNSHARD_RETURN_IF_ERROR(Visit(JoinPath(path, name), depth + 1));
    }
    return {};
  }

  ObjectStore& store_;
  CatalogStore* const catalog_;
  std::size_t visited_ = 0;
  DatasetMembers found_;
};

}  // namespace

Result<DatasetMembers> FindMembers(ObjectStore& store, CatalogStore* catalog) {
  MemberWalk walk(store, catalog);
  UNSHARD_RETURN_IF_ERROR(walk.Visit("", 0));
  return walk.Take();
}

}  // namespace unshard
