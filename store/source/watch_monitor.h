// A watcher that remembers whether every directory it was asked to watch really is watched.
#pragma once

#include <atomic>
#include <memory>

#include "store/object/change_watcher.h"

namespace unshard {

// Thread-safe.
class WatchMonitor final : public ChangeWatcher {
 public:
  explicit WatchMonitor(std::unique_ptr<ChangeWatcher> watcher) : watcher_(std::move(watcher)) {}

  bool Watch(std::string_view directory_key) override {
    const bool watched = watcher_->Watch(directory_key);
    if (!watched) complete_.store(false, std::memory_order_relaxed);
    return watched;
  }
  // True as long as every change is announced by an event: kernel caches may then live long.
  [[nodiscard]] bool complete() const { return complete_.load(std::memory_order_relaxed); }

 private:
  const std::unique_ptr<ChangeWatcher> watcher_;
  std::atomic<bool> complete_{true};
};

}  // namespace unshard
