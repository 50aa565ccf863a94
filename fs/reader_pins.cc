#include "fs/reader_pins.h"

#include <algorithm>
#include <utility>

namespace unshard {

ReaderPins::Pins::const_iterator ReaderPins::FindLocked(pid_t thread, const ChunkId& chunk) const {
  const auto now = Clock::now();
  return std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) {
    return waiting.thread == thread && waiting.chunk == chunk && now - waiting.since < patience_;
  });
}

void ReaderPins::SendAway(pid_t thread, const ChunkId& chunk) {
  if (thread == 0) return;
  Pins ended;  // contents close files, once the lock is given up
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto next = std::next(at);
    const bool replaced = at->thread == thread && at->chunk == chunk;
    const bool late = now - at->since >= patience_;
    if (replaced || late) ended.splice(ended.end(), waiting_, at);
    at = next;
  }
  if (waiting_.size() >= kMostPins) ended.splice(ended.end(), waiting_, waiting_.begin());
  waiting_.push_back({thread, chunk, 0, nullptr, now});
}

bool ReaderPins::Awaits(pid_t thread, const ChunkId& chunk) const {
  const std::lock_guard lock(mutex_);
  return FindLocked(thread, chunk) != waiting_.end();
}

void ReaderPins::Pin(pid_t thread, const ChunkId& chunk, NodeId node, ContentPtr content) {
  ContentPtr before;  // likewise
  const std::lock_guard lock(mutex_);
  const auto found = FindLocked(thread, chunk);
  if (found == waiting_.end()) return;
  const auto waiting = waiting_.erase(found, found);  // the same, to be changed
  waiting->node = node;
  before = std::exchange(waiting->content, std::move(content));
}

ContentPtr ReaderPins::Take(pid_t thread, const ChunkId& chunk, NodeId node) {
  Pins ended;  // likewise
  const std::lock_guard lock(mutex_);
  const auto found = FindLocked(thread, chunk);
  if (found == waiting_.end()) return nullptr;
  ended.splice(ended.end(), waiting_, found);
  return ended.front().node == node ? std::move(ended.front().content) : nullptr;
}

}  // namespace unshard
