// Queues changes from the watcher to the thread that notifies the kernel.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "store/object/change_watcher.h"

namespace unshard {

// Thread-safe. Nothing that is queued already is queued twice; beyond kMaxWaiting keys one event
// for everything replaces all of them.
class ChangeQueue {
 public:
  static constexpr std::size_t kMaxWaiting = 65536;

  void Push(const ChangeWatcher::Event& event) {
    std::unique_lock lock(mutex_);
    Add(event);
    lock.unlock();  // else the thread that wakes up would wait for it
    arrived_.notify_one();
  }

  // The same once `pause` is over: what could not be read now is read again.
  void PushLater(const std::string& key, std::chrono::milliseconds pause) {
    std::unique_lock lock(mutex_);
    later_.emplace(std::chrono::steady_clock::now() + pause, key);
    lock.unlock();
    arrived_.notify_one();
  }

  // A dentry that the kernel is to drop. Beyond kMaxWaiting names are only counted: an open of such
  // a name gets ESTALE once, at which the kernel looks it up again. False for the first of these
  // since the queue had room.
  bool PushName(std::uint64_t parent, std::string name) {
    std::unique_lock lock(mutex_);
    if (waiting_names_.contains({parent, name})) return true;
    if (names_.size() >= kMaxWaiting) return dropped_names_++ != 0;
    waiting_names_.emplace(parent, name);
    names_.push_back({parent, std::move(name)});
    dropped_names_ = 0;
    lock.unlock();
    arrived_.notify_one();
    return true;
  }

  // A node whose pages the kernel is to drop.
  void PushPages(std::uint64_t node) {
    std::unique_lock lock(mutex_);
    if (!pages_.insert(node).second) return;
    lock.unlock();
    arrived_.notify_one();
  }

  // Returns once the kernel was notified of a name that was pushed before (true, as where the queue
  // is closed), or after `longest` (false).
  bool WaitForName(std::uint64_t parent, const std::string& name,
                   std::chrono::milliseconds longest) {
    const std::pair<std::uint64_t, std::string> key{parent, name};
    std::unique_lock lock(mutex_);
    return notified_.wait_for(lock, longest, [&] {
      return closed_ || (!waiting_names_.contains(key) && under_way_ != key);
    });
  }

  struct Name {
    std::uint64_t parent = 0;
    std::string name;
  };
  struct Pages {
    std::uint64_t node = 0;
  };
  using Item = std::variant<ChangeWatcher::Event, Name, Pages>;

  // Blocks for the next item, events first, then names, then pages; nothing after Close(). A call
  // means that the kernel was notified of the item before. One caller.
  std::optional<Item> Pop() {
    std::unique_lock lock(mutex_);
    if (under_way_) {
      under_way_.reset();
      notified_.notify_all();
    }
    for (TakeDue(); !HasItem(); TakeDue()) {
      later_.empty() ? arrived_.wait(lock) : void(arrived_.wait_until(lock, later_.begin()->first));
    }
    if (closed_) return std::nullopt;
    if (everything_) {
      everything_ = false;
      return ChangeWatcher::Event{"", true};
    }
    if (waiting_.empty() && names_.empty()) return Pages{pages_.extract(pages_.begin()).value()};
    if (waiting_.empty()) {
      Name name = std::move(names_.front());
      names_.pop_front();
      under_way_.emplace(name.parent, name.name);
      waiting_names_.erase(*under_way_);
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
    notified_.notify_all();
  }

 private:
  // These are called with mutex_ held.
  void Add(const ChangeWatcher::Event& event) {
    if (everything_) return;
    if (event.everything || waiting_.size() >= kMaxWaiting) {
      everything_ = true;
      waiting_.clear();
      keys_.clear();
    } else if (keys_.insert(event.key).second) {
      waiting_.push_back(event.key);
    }
  }
  [[nodiscard]] bool HasItem() const {
    return closed_ || everything_ || !waiting_.empty() || !names_.empty() || !pages_.empty();
  }
  void TakeDue() {
    const auto due = later_.upper_bound(std::chrono::steady_clock::now());
    for (auto at = later_.begin(); at != due; at = later_.erase(at)) Add({at->second, false});
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable notified_;
  std::deque<std::string> waiting_;                                          // guarded by mutex_
  std::set<std::string> keys_;                                               // guarded by mutex_
  std::multimap<std::chrono::steady_clock::time_point, std::string> later_;  // guarded by mutex_
  std::deque<Name> names_;                                                   // guarded by mutex_
  std::set<std::uint64_t> pages_;                                            // guarded by mutex_
  std::set<std::pair<std::uint64_t, std::string>> waiting_names_;   // guarded by mutex_; in names_
  std::optional<std::pair<std::uint64_t, std::string>> under_way_;  // guarded by mutex_
  std::uint64_t dropped_names_ = 0;                                 // guarded by mutex_
  bool everything_ = false;                                         // guarded by mutex_
  bool closed_ = false;                                             // guarded by mutex_
};

}  // namespace unshard
