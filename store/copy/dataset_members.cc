// 1. Each directory is read for a dataset once. That of an array is not entered.
// 2. The levels of a pyramid are noted when it is read, before any directory below it is visited:
//    they are not entered either.
// 3. A directory without a dataset that has an `info` is one of precomputed objects, and is taken
//    as a whole: it may hold millions of files, which are listed only when they are copied.
// 4. Every other directory is listed once, for the directories in it and for whether it has files.
#include "store/copy/dataset_members.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "store/copy/chunk_files.h"
#include "store/local/shard_lock.h"
#include "store/object/key.h"
#include "store/remote/conduct.h"
#include "store/source/document_names.h"
#include "store/source/mentioned_names.h"

namespace unshard {
namespace {

constexpr std::size_t kMostDepth = 16;
constexpr std::size_t kMostDirectories = 100000;
constexpr std::size_t kMostOffered = 5;

class MemberWalk {
 public:
  MemberWalk(ObjectStore& store, CatalogStore* catalog, const std::set<std::string>& excluded)
      : store_(store), catalog_(catalog), excluded_(excluded) {}

  Status Visit(const std::string& path, std::size_t depth) {
    if (++visited_ > kMostDirectories || depth > kMostDepth) return TooMany(path);
    if (!excluded_.empty()) visited_paths_.push_back(path);
    auto read = ReadViewSource(store_, path, catalog_, Arrays::kChunks);  // step 1
    if (!read && read.error().code == ErrorCode::kNotSupported && !path.empty()) {
      found_.skipped.push_back({path, std::move(read).error()});
      return {};
    }
    UNSHARD_ASSIGN_OR_RETURN(auto source, std::move(read));
    if (!source) return VisitUndescribed(path, depth);
    if (source->dataset.kind == SourceDataset::Kind::kArray) {
      found_.datasets.push_back({path, *std::move(source)});
      return {};
    }
    const bool is_group = source->levels.empty();
    for (const ViewSource::Level& level : source->levels)
      levels_.insert(level.directory);  // step 2
    if (!is_group && catalog_ != nullptr && IsZarr(source->dataset.dialect)) {
      catalog_->AddDirectory(JoinPath(path, kLabelsDirectory));
    }
    (is_group ? found_.groups : found_.datasets).push_back({path, *std::move(source)});
    // What a group holds is not all mentioned.
    if (is_group && path.empty() && !store_.capabilities().lists) return {};
    return VisitMembers(path, depth, true);
  }

  // Fails where one of `excluded` has not been met.
  [[nodiscard]] Status CheckExcluded() const {
    for (const std::string& path : excluded_) {
      const auto covers = [&](const std::string& met) { return IsAtOrBelow(path, met); };
      if (std::any_of(met_.begin(), met_.end(), covers)) continue;
      const auto level = [&](const std::string& one) { return IsAtOrBelow(one, path); };
      if (std::any_of(levels_.begin(), levels_.end(), level)) {
        return Fail(
            ErrorCode::kNotFound, "--exclude ", path,
            ": is a level of a pyramid, or holds one; a pyramid is copied with all its levels");
      }
      return Fail(ErrorCode::kNotFound, "--exclude ", path, ": ", store_.Describe(""),
                  " has no such directory in a ", "group, or beside the levels of a pyramid",
                  Others(path));
    }
    return {};
  }
  DatasetMembers Take() { return std::move(found_); }

 private:
  // Directories between two groups need no document of their own in N5.
  Status VisitUndescribed(const std::string& path, std::size_t depth) {
    if (path.empty()) return {};
    UNSHARD_ASSIGN_OR_RETURN(const auto info,
                             store_.Stat(JoinPath(path, kInfoDocument), CallerDeadline()));
    if (info && info->kind == ObjectInfo::Kind::kFile) {  // step 3
      if (!store_.capabilities().lists) return {};
      found_.files.push_back({path, FileDirectory::Kind::kObjects, false});
      return {};
    }
    return VisitMembers(path, depth, false);
  }

  Status VisitMembers(const std::string& path, std::size_t depth, bool has_documents) {  // step 4
    std::vector<std::string> names;
    bool files = false;
    UNSHARD_RETURN_IF_ERROR(store_.List(path, CallerDeadline(), [&](const ListEntry& entry) {
      if (IsLeftOver(entry.name)) return true;
      if (entry.kind == ObjectInfo::Kind::kDirectory) {
        names.emplace_back(entry.name);
      } else {
        files |= !has_documents || !IsMetadataOfAnyFormat(entry.name);
      }
      return names.size() <= kMostDirectories;
    }));
    if (files && store_.capabilities().lists && !levels_.contains(path)) {
      found_.files.push_back({path, FileDirectory::Kind::kPlain, has_documents});
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      const std::string member = JoinPath(path, name);
      if (levels_.contains(member)) continue;
      if (excluded_.contains(member) && !HoldsLevels(member)) {
        met_.insert(member);
        continue;
      }
      UNSHARD_RETURN_IF_ERROR(Visit(member, depth + 1));
    }
    return {};
  }

  // "; there is labels": what else could be excluded beside it.
  [[nodiscard]] std::string Others(const std::string& path) const {
    std::string names;
    std::size_t count = 0;
    for (const std::string& one : visited_paths_) {
      if (one.empty() || ParentPath(one) != ParentPath(path) || ++count > kMostOffered) continue;
      names += (names.empty() ? "; there is " : ", ") + one;
    }
    return names;
  }

  [[nodiscard]] bool HoldsLevels(const std::string& path) const {
    return std::any_of(levels_.begin(), levels_.end(),
                       [&](const std::string& level) { return IsAtOrBelow(level, path); });
  }

  tl::unexpected<Error> TooMany(const std::string& path) const {
    return Fail(ErrorCode::kResourceExhausted, store_.Describe(path),
                ": too many directories in the group (more than 100000, or 16 levels): copy the "
                "groups in it one by one");
  }

  ObjectStore& store_;
  CatalogStore* const catalog_;
  const std::set<std::string>& excluded_;
  std::set<std::string> met_;  // of these
  std::size_t visited_ = 0;
  std::vector<std::string> visited_paths_;  // where something is excluded
  std::set<std::string> levels_;            // the directories of levels of pyramids
  DatasetMembers found_;
};

}  // namespace

Result<DatasetMembers> FindMembers(ObjectStore& store, CatalogStore* catalog,
                                   const std::set<std::string>& excluded) {
  MemberWalk walk(store, catalog, excluded);
  UNSHARD_RETURN_IF_ERROR(walk.Visit("", 0));
  UNSHARD_RETURN_IF_ERROR(walk.CheckExcluded());
  return walk.Take();
}

bool IsLeftOver(std::string_view name) {
  return name.ends_with(kLockSuffix) || name.starts_with(kCopyScratchPrefix) ||
         name.starts_with(kProbePrefix);
}

}  // namespace unshard
