// A lock for each path, made when it is first taken, and destroyed when no thread holds or awaits
// it.
#pragma once

#include <map>
#include <mutex>
#include <string>

namespace unshard {

// Thread-safe. Costs one entry for each path that is locked at the moment.
class PathLocks {
  struct Entry {
    std::mutex mutex;
    unsigned users = 0;  // guarded by mutex_ of PathLocks
  };
  using Entries = std::map<std::string, Entry>;

 public:
  // Holds the lock of one path until it is destroyed.
  class Guard {
   public:
    Guard(PathLocks& locks, const std::string& path) : locks_(locks), entry_(locks.Enter(path)) {
      entry_->second.mutex.lock();
    }
    ~Guard() {
      entry_->second.mutex.unlock();
      locks_.Leave(entry_);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    PathLocks& locks_;
    const Entries::iterator entry_;
  };

 private:
  Entries::iterator Enter(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.try_emplace(path).first;
    ++entry->second.users;
    return entry;
  }
  void Leave(Entries::iterator entry) {
    const std::lock_guard lock(mutex_);
    if (--entry->second.users == 0) entries_.erase(entry);
  }

  std::mutex mutex_;
  Entries entries_;  // guarded by mutex_
};

}  // namespace unshard
