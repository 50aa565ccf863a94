// Changes on their way from the watcher to the thread that tells the kernel.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "store/change_watcher.h"

namespace unshard {

// Thread-safe. A key that waits already is not queued twice; beyond kMaxWaiting keys one event for
// everything takes the place of all.
class ChangeQueue {
 public:
  void Push(const ChangeWatcher::Event& event) {
    const std::lock_guard lock(mutex_);
    if (everything_) return;
    if (event.everything || waiting_.size() == kMaxWaiting) {
      everything_ = true;
      waiting_.clear();
      keys_.clear();
    } else if (keys_.insert(event.key).second) {
      waiting_.push_back(event.key);
    }
    arrived_.notify_one();
  }

  // A name that the kernel is to drop, whatever it leads to. Those that are too many are left to
  // the kernel, which drops what it has no use for.
  void PushName(std::uint64_t parent, std::string name) {
    const std::lock_guard lock(mutex_);
    if (names_.size() >= kMaxWaiting) return;
    names_.push_back({parent, std::move(name)});
    arrived_.notify_one();
  }

  struct Name {
    std::uint64_t parent = 0;
    std::string name;
  };
  using Item = std::variant<ChangeWatcher::Event, Name>;

  // Blocks for the next item, events first; nothing after Close().
  std::optional<Item> Pop() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock,
                  [&] { return closed_ || everything_ || !waiting_.empty() || !names_.empty(); });
    if (closed_) return std::nullopt;
    if (everything_) {
      everything_ = false;
      return ChangeWatcher::Event{"", true};
    }
    if (waiting_.empty()) {
      Name name = std::move(names_.front());
      names_.pop_front();
      return name;
    }
    ChangeWatcher::Event event{waiting_.front(), false};
    keys_.erase(event.key);
    waiting_.pop_front();
    return event;
  }

  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    arrived_.notify_all();
  }

 private:
  static constexpr std::size_t kMaxWaiting = 65536;

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::string> waiting_;  // guarded by mutex_
  std::set<std::string> keys_;       // guarded by mutex_
  std::deque<Name> names_;           // guarded by mutex_
  bool everything_ = false;          // guarded by mutex_
  bool closed_ = false;              // guarded by mutex_
};

}  // namespace unshard
