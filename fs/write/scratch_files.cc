#include "fs/write/scratch_files.h"

#include <cerrno>
#include <utility>

#include "fs/common/request_failures.h"
#include "store/object/key.h"
#include "store/object/keys_below.h"
#include "store/object/time_now.h"

namespace unshard {

ScratchFiles::Found ScratchFiles::FindLocked(const std::string& directory,
                                             std::string_view name) const {
  const auto in = directories_.find(directory);
  if (in == directories_.end()) return {};
  const auto found = in->second.find(name);
  return found == in->second.end() ? Found{} : found->second;
}

ScratchFiles::Found ScratchFiles::Find(const std::string& directory, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return FindLocked(directory, name);
}

std::optional<std::string> ScratchFiles::PathOf(const ScratchDirectory& directory) const {
  const std::lock_guard lock(mutex_);
  return directory.path;
}

std::optional<std::string> ScratchFiles::PathOf(const StagedInode& staged) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [directory, names] : directories_) {
    for (const auto& [name, found] : names) {
      if (found.file.get() == &staged) return JoinPath(directory, name);
    }
  }
  return std::nullopt;
}

std::pair<std::uint64_t, std::vector<std::string>> ScratchFiles::Files(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [directory, names] : directories_) {
    for (const auto& [name, found] : names) {
      if (paths.size() == most) return {links_.size(), std::move(paths)};
      if (found.file) paths.push_back(JoinPath(directory, name));
    }
  }
  return {links_.size(), std::move(paths)};
}

bool ScratchFiles::Add(const std::string& directory, std::string_view name,
                       const StagedPtr& staged) {
  const std::lock_guard lock(mutex_);
  const bool added = directories_[directory].emplace(name, Found{staged, nullptr}).second;
  if (added) ++links_[staged.get()];
  return added;
}

Result<ScratchDirectoryPtr> ScratchFiles::MakeDirectory(const std::string& directory,
                                                        std::string_view name) {
  std::string path = JoinPath(directory, name);
  const std::lock_guard lock(mutex_);
  if (FindLocked(directory, name)) {
    return FailWith(EEXIST, ErrorCode::kInvalidArgument, path, ": exists");
  }
  if (directory_count_ >= kMaxDirectories) {
    return FailWith(ENOSPC, ErrorCode::kResourceExhausted, path, ": a mount holds at most ",
                    kMaxDirectories, " scratch directories: remove those that are not needed");
  }
  ++directory_count_;
  auto made = std::make_shared<ScratchDirectory>(
      ScratchDirectory{++last_number_, TimeNow(), std::move(path)});
  directories_[directory].emplace(name, Found{nullptr, made});
  return made;
}

void ScratchFiles::Erase(const std::string& directory, std::string_view name) {
  const auto in = directories_.find(directory);
  in->second.erase(in->second.find(name));
  if (in->second.empty()) directories_.erase(in);
}

void ScratchFiles::DropLink(const StagedInode& staged) {
  const auto found = links_.find(&staged);
  if (--found->second == 0) links_.erase(found);
}

ScratchFiles::StagedPtr ScratchFiles::Remove(const std::string& directory, std::string_view name) {
  const std::lock_guard lock(mutex_);
  StagedPtr staged = FindLocked(directory, name).file;
  if (!staged) return nullptr;
  Erase(directory, name);
  DropLink(*staged);
  return staged;
}

Status ScratchFiles::RemoveDirectory(const std::string& directory, std::string_view name) {
  const std::string path = JoinPath(directory, name);
  const std::lock_guard lock(mutex_);
  const Found found = FindLocked(directory, name);
  if (!found) return FailWith(ENOENT, ErrorCode::kNotFound, path, ": is gone");
  if (!found.directory) {
    return FailWith(ENOTDIR, ErrorCode::kInvalidArgument, path, ": is not a directory");
  }
  if (directories_.contains(path)) {
    return FailWith(ENOTEMPTY, ErrorCode::kInvalidArgument, path, ": is not empty");
  }
  found.directory->path.reset();
  --directory_count_;
  Erase(directory, name);
  return {};
}

// Gives the names in and below a directory that was renamed their new paths.
void ScratchFiles::MovePaths(const std::string& from, const std::string& to) {
  std::map<std::string, NamesIn> moved;
  auto at = directories_.lower_bound(from);
  while (at != directories_.end() && at->first.starts_with(from)) {
    if (!IsAtOrBelow(at->first, from)) {
      ++at;
      continue;
    }
    const std::string path = to + at->first.substr(from.size());
    for (const auto& [name, found] : at->second) {
      if (found.directory) found.directory->path = JoinPath(path, name);
    }
    moved.emplace(path, std::move(at->second));
    at = directories_.erase(at);
  }
  directories_.merge(moved);
}

Status ScratchFiles::Rename(const std::string& from, std::string_view name, const std::string& to,
                            std::string_view new_name) {
  const std::string old_path = JoinPath(from, name);
  const std::string new_path = JoinPath(to, new_name);
  const std::lock_guard lock(mutex_);
  const Found moved = FindLocked(from, name);
  if (!moved) return FailWith(ENOENT, ErrorCode::kNotFound, old_path, ": is gone");
  if (old_path == new_path) return {};
  const Found replaced = FindLocked(to, new_name);
  if (moved.directory && IsAtOrBelow(new_path, old_path)) {
    return Fail(ErrorCode::kInvalidArgument, new_path, ": is inside ", old_path);
  }
  if (moved.directory && replaced.file) {
    return FailWith(ENOTDIR, ErrorCode::kInvalidArgument, new_path, ": is not a directory");
  }
  if (moved.file && replaced.directory) {
    return FailWith(EISDIR, ErrorCode::kInvalidArgument, new_path, ": is a directory");
  }
  if (replaced.directory) {
    if (directories_.contains(new_path)) {
      return FailWith(ENOTEMPTY, ErrorCode::kInvalidArgument, new_path, ": is not empty");
    }
    replaced.directory->path.reset();
    --directory_count_;
  }
  if (replaced.file) DropLink(*replaced.file);
  Erase(from, name);
  directories_[to].insert_or_assign(std::string(new_name), moved);
  if (moved.directory) {
    moved.directory->path = new_path;
    MovePaths(old_path, new_path);
  }
  return {};
}

std::vector<ScratchFiles::Name> ScratchFiles::Names(const std::string& directory) const {
  std::vector<Name> names;
  const std::lock_guard lock(mutex_);
  const auto in = directories_.find(directory);
  if (in == directories_.end()) return names;
  for (const auto& [name, found] : in->second) names.push_back({name, found.directory != nullptr});
  return names;
}

std::set<std::string> ScratchFiles::NamesAbove(const std::string& directory) const {
  std::set<std::string> names;
  const std::size_t prefix = directory.empty() ? 0 : directory.size() + 1;
  const std::lock_guard lock(mutex_);
  for (const auto& [path, in] : KeysBelow(directories_, directory)) {
    names.insert(path.substr(prefix, path.find('/', prefix) - prefix));
  }
  return names;
}

std::uint64_t ScratchFiles::Links(const StagedInode& staged) const {
  const std::lock_guard lock(mutex_);
  const auto found = links_.find(&staged);
  return found == links_.end() ? 0 : found->second;
}

}  // namespace unshard
