// What a store has said of keys a moment ago: programs look each name up several times.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "store/object/object_store.h"

namespace unshard {

// Thread-safe.
class RecentStats {
 public:
  using Clock = std::chrono::steady_clock;
  explicit RecentStats(std::chrono::milliseconds ttl) : ttl_(ttl) {}

  // As `store` answers, or has answered within the time to live.
  Result<std::optional<ObjectInfo>> Stat(ObjectStore& store, const std::string& key,
                                         const Deadline& deadline) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = answers_.find(key);
      if (found != answers_.end() && Clock::now() < found->second.until) return found->second.info;
    }
    const Clock::time_point asked = Clock::now();
    UNSHARD_ASSIGN_OR_RETURN(auto info, store.Stat(key, deadline));
    const std::lock_guard lock(mutex_);
    if (answers_.size() >= kMostAnswers) answers_.clear();
    answers_[key] = {asked + ttl_, info};
    return info;
  }
  // This mount has changed what is under the key.
  void Forget(const std::string& key) {
    const std::lock_guard lock(mutex_);
    answers_.erase(key);
  }

 private:
  static constexpr std::size_t kMostAnswers = 8192;
  struct Answer {
    Clock::time_point until;
    std::optional<ObjectInfo> info;
  };
  const std::chrono::milliseconds ttl_;
  std::mutex mutex_;
  std::unordered_map<std::string, Answer> answers_;  // guarded by mutex_
};

}  // namespace unshard
