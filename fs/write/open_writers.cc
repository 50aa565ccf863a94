#include "fs/write/open_writers.h"

#include <algorithm>

namespace unshard {
namespace {

// The kernel's second attempt follows the first one at once, unless the machine is busy.
constexpr std::chrono::seconds kSecondAttempt{5};

}  // namespace

void OpenWriters::Enter(const ChunkId& chunk, const StagedPtr& staged) {
  const std::lock_guard lock(mutex_);
  const auto entered = writers_.find(chunk);
  if (entered == writers_.end()) {
    writers_.emplace(chunk, std::vector<Writer>{{staged, 1}});  // never without a writer
    return;
  }
  std::vector<Writer>& writers = entered->second;
  const auto found = std::find_if(writers.begin(), writers.end(),
                                  [&](const Writer& writer) { return writer.staged == staged; });
  if (found != writers.end()) {
    ++found->opens;
  } else {
    writers.push_back({staged, 1});
  }
}

bool OpenWriters::LeaveLocked(const ChunkId& chunk, const StagedPtr& staged) {
  const auto found = writers_.find(chunk);
  if (found == writers_.end()) return false;
  std::vector<Writer>& writers = found->second;
  const auto writer = std::find_if(writers.begin(), writers.end(),
                                   [&](const Writer& one) { return one.staged == staged; });
  if (writer == writers.end() || --writer->opens != 0) return false;
  writers.erase(writer);
  if (writers.empty()) writers_.erase(found);
  left_.notify_all();
  return true;
}

bool OpenWriters::Leave(const ChunkId& chunk, const StagedPtr& staged) {
  const std::lock_guard lock(mutex_);
  return LeaveLocked(chunk, staged);
}

OpenWriters::StagedPtr OpenWriters::Latest(const ChunkId& chunk) const {
  const std::lock_guard lock(mutex_);
  const auto found = writers_.find(chunk);
  return found == writers_.end() ? nullptr : found->second.back().staged;
}

std::vector<OpenWriters::StagedPtr> OpenWriters::All(const ChunkId& chunk) const {
  std::vector<StagedPtr> all;
  const std::lock_guard lock(mutex_);
  const auto found = writers_.find(chunk);
  if (found == writers_.end()) return all;
  for (const Writer& writer : found->second) all.push_back(writer.staged);
  return all;
}

bool OpenWriters::WritesLocked(const ChunkId& chunk, const StagedPtr& staged) const {
  const auto found = writers_.find(chunk);
  return found != writers_.end() &&
         std::any_of(found->second.begin(), found->second.end(),
                     [&](const Writer& writer) { return writer.staged == staged; });
}

void OpenWriters::MarkEmptied(const ChunkId& chunk) {
  const std::lock_guard lock(mutex_);
  ForgetEmptiedLocked(chunk);
  if (emptied_.size() >= kMostEmptied) ForgetEmptiedLocked(emptied_since_.begin()->second);
  emptied_since_.emplace(++last_emptied_, chunk);
  emptied_.emplace(chunk, last_emptied_);
}

void OpenWriters::ForgetEmptied(const ChunkId& chunk) {
  const std::lock_guard lock(mutex_);
  ForgetEmptiedLocked(chunk);
}

void OpenWriters::ForgetEmptiedLocked(ChunkId chunk) {
  const auto found = emptied_.find(chunk);
  if (found == emptied_.end()) return;
  emptied_since_.erase(found->second);
  emptied_.erase(found);
}

bool OpenWriters::IsEmptied(const ChunkId& chunk) const {
  const std::lock_guard lock(mutex_);
  return emptied_.contains(chunk);
}

bool OpenWriters::IsWriter(const ChunkId& chunk, const StagedPtr& staged) const {
  const std::lock_guard lock(mutex_);
  return WritesLocked(chunk, staged);
}

bool OpenWriters::WaitForEnd(const ChunkId& chunk, const StagedPtr& staged) {
  std::unique_lock lock(mutex_);
  if (waiters_ == kMostWaiters) return !WritesLocked(chunk, staged);
  ++waiters_;
  const bool ended =
      left_.wait_for(lock, kLongestWait, [&] { return !WritesLocked(chunk, staged); });
  --waiters_;
  return ended;
}

// Returns where they led to.
template <class Which>
std::vector<OpenWriters::StagedPtr> OpenWriters::EndRedirectsLocked(const Which& which) {
  std::vector<StagedPtr> led_to;
  waiting_.remove_if([&](const Waiting& waiting) {
    if (!which(waiting)) return false;
    LeaveLocked(waiting.chunk, waiting.staged);
    waiting.staged->Release();
    led_to.push_back(waiting.staged);
    return true;
  });
  return led_to;
}

std::vector<OpenWriters::StagedPtr> OpenWriters::Redirect(const OpenRequest& request,
                                                          const ChunkId& chunk,
                                                          const StagedPtr& staged) {
  Enter(chunk, staged);
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  auto ended = EndRedirectsLocked([&](const Waiting& waiting) {
    const bool replaced = waiting.thread == request.thread && waiting.chunk == chunk;
    return replaced || now - waiting.since >= redirect_lifetime_;
  });
  waiting_.push_back({request.thread, request.truncate, chunk, staged, now});
  return ended;
}

OpenWriters::StagedPtr OpenWriters::Redirected(pid_t thread, const ChunkId& chunk) const {
  const std::lock_guard lock(mutex_);
  for (const Waiting& waiting : waiting_) {
    if (waiting.thread == thread && waiting.chunk == chunk) return waiting.staged;
  }
  return nullptr;
}

void OpenWriters::NoteStale(pid_t thread, const ChunkId& chunk, NodeId node) {
  const std::lock_guard lock(mutex_);
  sent_away_.remove_if([&](const SentAway& sent) {
    return sent.thread == thread && sent.chunk == chunk && (thread != 0 || sent.node == node);
  });
  sent_away_.push_front({thread, chunk, node, std::chrono::steady_clock::now()});
  if (sent_away_.size() > kMostSentAway) sent_away_.pop_back();
}

bool OpenWriters::WasAnsweredStale(pid_t thread, const ChunkId& chunk,
                                   std::optional<NodeId> from) const {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  for (const SentAway& sent : sent_away_) {
    if (now - sent.since >= kSecondAttempt) break;
    if (sent.thread == thread && sent.chunk == chunk && from.value_or(sent.node) == sent.node) {
      return true;
    }
  }
  return false;
}

std::vector<OpenWriters::StagedPtr> OpenWriters::TakeRedirect(pid_t thread,
                                                              const StagedPtr& staged) {
  const std::lock_guard lock(mutex_);
  return EndRedirectsLocked(
      [&](const Waiting& waiting) { return waiting.thread == thread && waiting.staged == staged; });
}

std::vector<OpenWriters::StagedPtr> OpenWriters::EndOpen(pid_t thread) {
  const std::lock_guard lock(mutex_);
  if (thread != 0) {
    sent_away_.remove_if([&](const SentAway& sent) { return sent.thread == thread; });
  }
  return EndRedirectsLocked([&](const Waiting& waiting) { return waiting.thread == thread; });
}

std::vector<OpenWriters::StagedPtr> OpenWriters::EndOtherRedirects(const OpenRequest& request) {
  const std::lock_guard lock(mutex_);
  return EndRedirectsLocked([&](const Waiting& waiting) {
    return waiting.thread == request.thread &&
           (!request.write || request.truncate != waiting.truncates);
  });
}

}  // namespace unshard
