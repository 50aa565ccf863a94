// Generations (fuse_entry_out) of directories that were removed and exist again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace unshard {

// The kernel creates nothing in a directory that it has removed (S_DEAD), for as long as a process
// has it open or as its working directory. A directory that is found again under the same node
// number gets another generation, at which the kernel makes a new inode. Removing a directory of
// the grid leaves it existing, so this is the common case. Thread-safe.
class RemovedDirectories {
 public:
  // Assumes that no process still has the inode of a directory that was removed longer ago.
  static constexpr std::size_t kRemembered = 4096;

  void Add(const std::string& path) {
    const std::lock_guard lock(mutex_);
    generations_[path] = ++latest_;
    order_.emplace_back(latest_, path);
    if (order_.size() <= kRemembered) return;
    const auto [generation, oldest] = std::move(order_.front());
    order_.pop_front();
    const auto found = generations_.find(oldest);
    if (found != generations_.end() && found->second == generation) generations_.erase(found);
  }

  // 0 for directories that were not removed lately.
  [[nodiscard]] std::uint64_t GenerationOf(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const auto found = generations_.find(path);
    return found == generations_.end() ? 0 : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t latest_ = 0;                                 // guarded by mutex_
  std::map<std::string, std::uint64_t> generations_;         // guarded by mutex_
  std::deque<std::pair<std::uint64_t, std::string>> order_;  // guarded by mutex_, oldest first
};

}  // namespace unshard
