// Which listings that the kernel has kept are still right.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "fs/common/node_id.h"

namespace unshard {

// The kernel drops the listing of a directory in which it creates, removes or renames a name. A
// chunk gets into listings later than it is created, once it is committed, and the kernel does not
// know of that: what was listed in between has to be dropped when the directory is opened next.
// Thread-safe.
class KeptListings {
 public:
  static constexpr std::size_t kMostDirectories = 4096;

  // A chunk was committed, and listings have it now.
  void Committed() { commits_.fetch_add(1); }

  // A directory is opened: whether nothing was committed, anywhere, since it was opened before.
  [[nodiscard]] bool Opened(NodeId directory) {
    const std::uint64_t now = commits_.load();
    if (now == 0) return true;
    const std::lock_guard lock(mutex_);
    if (opened_at_.size() >= kMostDirectories && !opened_at_.contains(directory)) {
      opened_at_.clear();
    }
    const auto [found, added] = opened_at_.try_emplace(directory, now);
    if (added) return false;
    const bool same = found->second == now;
    found->second = now;
    return same;
  }

 private:
  std::atomic<std::uint64_t> commits_{0};
  std::mutex mutex_;
  std::unordered_map<NodeId, std::uint64_t> opened_at_;  // commits_ at that time; guarded by mutex_
};

}  // namespace unshard
