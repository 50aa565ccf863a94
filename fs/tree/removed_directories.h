// Generations of directories that were removed and are there again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace unshard {

// The kernel creates nothing in a directory that it has removed (S_DEAD), for as long as any
// program stands in it or has it open. A directory that is found again under the same node number
// gets another generation, at which the kernel makes a new inode. Directories of the grid go on
// existing when they are removed, so this is the rule and not the exception. Thread-safe.
class RemovedDirectories {
 public:
  // Of what was removed longer ago no process has the old inode any more.
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
