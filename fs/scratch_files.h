// Scratch files: names in chunk directories that are no chunk's, from their creation until they are
// renamed onto a chunk, removed, or the mount ends.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/staged_inode.h"

namespace unshard {

// Thread-safe. Directories are named by their path below the mount point. A file may have several
// names.
class ScratchFiles {
 public:
  using StagedPtr = std::shared_ptr<StagedInode>;

  StagedPtr Find(const std::string& directory, std::string_view name) const {
    const std::lock_guard lock(mutex_);
    const auto in = directories_.find(directory);
    if (in == directories_.end()) return nullptr;
    const auto found = in->second.find(name);
    return found == in->second.end() ? nullptr : found->second;
  }
  // False where the name is taken.
  bool Add(const std::string& directory, std::string_view name, const StagedPtr& staged) {
    const std::lock_guard lock(mutex_);
    return directories_[directory].emplace(name, staged).second;
  }
  // Null where there is no such name.
  StagedPtr Remove(const std::string& directory, std::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto in = directories_.find(directory);
    if (in == directories_.end()) return nullptr;
    const auto found = in->second.find(name);
    if (found == in->second.end()) return nullptr;
    StagedPtr staged = std::move(found->second);
    in->second.erase(found);
    if (in->second.empty()) directories_.erase(in);
    return staged;
  }
  // Replaces what stands under the new name, in one step. False where the old one is gone.
  bool Rename(const std::string& from, std::string_view name, const std::string& to,
              std::string_view new_name) {
    const std::lock_guard lock(mutex_);
    const auto in = directories_.find(from);
    if (in == directories_.end()) return false;
    const auto found = in->second.find(name);
    if (found == in->second.end()) return false;
    if (from == to && name == new_name) return true;
    StagedPtr staged = std::move(found->second);
    in->second.erase(found);
    if (in->second.empty()) directories_.erase(in);
    directories_[to].insert_or_assign(std::string(new_name), std::move(staged));
    return true;
  }
  [[nodiscard]] std::vector<std::string> Names(const std::string& directory) const {
    std::vector<std::string> names;
    const std::lock_guard lock(mutex_);
    const auto in = directories_.find(directory);
    if (in == directories_.end()) return names;
    for (const auto& [name, staged] : in->second) names.push_back(name);
    return names;
  }
  [[nodiscard]] std::uint64_t Links(const StagedPtr& staged) const {
    std::uint64_t links = 0;
    const std::lock_guard lock(mutex_);
    for (const auto& [directory, names] : directories_) {
      for (const auto& [name, one] : names)
        if (one == staged) ++links;
    }
    return links;
  }

 private:
  using Names_ = std::map<std::string, StagedPtr, std::less<>>;
  mutable std::mutex mutex_;
  std::map<std::string, Names_> directories_;  // guarded by mutex_; none of them empty
};

}  // namespace unshard
