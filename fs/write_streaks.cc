#include "fs/write_streaks.h"

#include <algorithm>

namespace unshard {

WriteStreaks::Streaks::iterator WriteStreaks::FindLocked(pid_t thread) {
  return std::find_if(streaks_.begin(), streaks_.end(),
                      [&](const Streak& streak) { return streak.thread == thread; });
}

void WriteStreaks::Wrote(pid_t thread, const ChunkId& chunk) {
  if (thread == 0) return;
  const std::lock_guard lock(mutex_);
  const auto found = FindLocked(thread);
  if (found == streaks_.end()) {
    streaks_.push_front({thread, 0, chunk, std::nullopt, 0});
    if (streaks_.size() > kMostThreads) streaks_.pop_back();
  } else {
    streaks_.splice(streaks_.begin(), streaks_, found);
  }
  Streak& streak = streaks_.front();
  if (streak.promised && *streak.promised != chunk) streak.written = 0;
  streak.written = std::min(streak.written + 1, kStreak);
  streak.last = chunk;
  streak.promised.reset();
}

void WriteStreaks::End(pid_t thread) {
  const std::lock_guard lock(mutex_);
  const auto found = FindLocked(thread);
  if (found != streaks_.end()) streaks_.erase(found);
}

std::optional<std::uint64_t> WriteStreaks::Promise(pid_t thread, const ChunkId& chunk) {
  const std::lock_guard lock(mutex_);
  const auto found = FindLocked(thread);
  if (found == streaks_.end() || found->written < kStreak) return std::nullopt;
  if (found->promised == chunk) return found->number;
  if (found->promised) {
    streaks_.erase(found);
    return std::nullopt;
  }
  if (found->last == chunk) return std::nullopt;
  found->promised = chunk;
  found->number = ++promises_;
  return found->number;
}

}  // namespace unshard
