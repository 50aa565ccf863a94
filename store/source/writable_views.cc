#include "store/source/writable_views.h"

#include <cerrno>
#include <utility>

namespace unshard {
Result<std::unique_ptr<ObjectReplacement>> AllViewsReplacer::Begin(const ReplacedObject& object,
                                                                   const Deadline& deadline) {
  ReplacedObject below{Below(object.key), std::nullopt};
  if (object.obsolete) {
    below.obsolete = ShardKeys::Pair{Below(object.obsolete->index), Below(object.obsolete->data)};
  }
  return below_->Begin(below, deadline);
}

Result<std::string> AllViewsFiles::Changed(const std::string& path) const {
  const PathInView split = SplitView(path);
  if (!split.path.empty() && IsBelowView(path)) return std::string(split.path);
  return tl::unexpected<Error>(
      Error{ErrorCode::kPermissionDenied, path + ": this directory holds only the views", EPERM});
}

Result<std::pair<std::string, std::string>> AllViewsFiles::InOneView(const std::string& from,
                                                                     const std::string& to) const {
  UNSHARD_ASSIGN_OR_RETURN(std::string old_name, Changed(from));
  UNSHARD_ASSIGN_OR_RETURN(std::string new_name, Changed(to));
  if (SplitView(from).view == SplitView(to).view) {
    return std::pair(std::move(old_name), std::move(new_name));
  }
  return tl::unexpected<Error>(
      Error{ErrorCode::kNotSupported, from + ": cannot be moved to another view; copy it", EXDEV});
}

Result<std::shared_ptr<File>> AllViewsFiles::Open(const std::string& path, const OpenFlags& flags) {
  if (!flags.create && !IsBelowView(path)) return nullptr;
  UNSHARD_ASSIGN_OR_RETURN(const std::string below, Changed(path));
  return below_->Open(below, flags);
}

Result<std::optional<FileStatus>> AllViewsFiles::Stat(const std::string& path) {
  if (!path.empty() && !IsBelowView(path)) return std::nullopt;
  return below_->Stat(std::string(SplitView(path).path));
}

Status AllViewsFiles::Rename(const std::string& from, const std::string& to) {
  UNSHARD_ASSIGN_OR_RETURN(const auto names, InOneView(from, to));
  return below_->Rename(names.first, names.second);
}

Status AllViewsFiles::Link(const std::string& from, const std::string& to) {
  UNSHARD_ASSIGN_OR_RETURN(const auto names, InOneView(from, to));
  return below_->Link(names.first, names.second);
}

Result<bool> AllViewsFiles::Remove(const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const std::string below, Changed(path));
  return below_->Remove(below);
}

Result<bool> AllViewsFiles::MakeDirectory(const std::string& path, std::uint32_t mode) {
  UNSHARD_ASSIGN_OR_RETURN(const std::string below, Changed(path));
  return below_->MakeDirectory(below, mode);
}

Status AllViewsFiles::SyncDirectory(const std::string& path) {
  if (!IsBelowView(path)) return {};
  return below_->SyncDirectory(std::string(SplitView(path).path));
}

Status AllViewsFiles::List(const std::string& path,
                           const std::function<bool(std::string_view name)>& visitor) {
  if (path.empty()) {
    for (const std::string& view : views_->views()) {
      if (!visitor(view)) break;
    }
    return {};
  }
  if (!IsBelowView(path)) return {};
  return below_->List(std::string(SplitView(path).path), visitor);
}

}  // namespace unshard
