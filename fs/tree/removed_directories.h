// Directories that programs have removed, and that still exist, because chunks belong into them:
// their generations (fuse_entry_out), and for which thread they are missing.
#pragma once

#include <sys/types.h>

#include <chrono>
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
// the grid leaves it existing, so this is the common case.
//
// A program that removes a directory and makes it anew (tar, mv, shutil) gets EEXIST from the
// kernel where a look-up finds it, and some try that for ever. So the thread that has removed one
// does not find it for a while, or until it is made. Thread-safe.
class RemovedDirectories {
 public:
  // Assumes that no process still has the inode of a directory that was removed longer ago.
  static constexpr std::size_t kRemembered = 4096;
  static constexpr std::chrono::seconds kMissing{10};

  // `thread` has removed it; 0: the thread is not known.
  void Add(const std::string& path, pid_t thread) {
    const std::lock_guard lock(mutex_);
    removals_[path] = {++latest_, thread, Clock::now()};
    order_.emplace_back(latest_, path);
    if (order_.size() <= kRemembered) return;
    const auto [generation, oldest] = std::move(order_.front());
    order_.pop_front();
    const auto found = removals_.find(oldest);
    if (found != removals_.end() && found->second.generation == generation) removals_.erase(found);
  }

  // 0 for directories that were not removed lately.
  [[nodiscard]] std::uint64_t GenerationOf(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const auto found = removals_.find(path);
    return found == removals_.end() ? 0 : found->second.generation;
  }

  // The thread that does not find it now; 0: all threads do. While one does not, the name must have
  // no time to live.
  [[nodiscard]] pid_t MissingFor(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const auto found = removals_.find(path);
    const bool is = found != removals_.end() && Clock::now() - found->second.since < kMissing;
    return is ? found->second.thread : 0;
  }

  // mkdir(2). Whether a thread did not find it.
  bool Made(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto found = removals_.find(path);
    return found != removals_.end() && std::exchange(found->second.thread, 0) != 0;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Removal {
    std::uint64_t generation = 0;
    pid_t thread = 0;  // that does not find it
    Clock::time_point since;
  };

  mutable std::mutex mutex_;
  std::uint64_t latest_ = 0;                                 // guarded by mutex_
  std::map<std::string, Removal> removals_;                  // guarded by mutex_
  std::deque<std::pair<std::uint64_t, std::string>> order_;  // guarded by mutex_, oldest first
};

}  // namespace unshard
