#include "fs/chunk_writers.h"

#include <algorithm>
#include <tuple>

namespace unshard {
namespace {

// A thread that was killed between the two opens never comes back.
constexpr std::chrono::seconds kPatience{30};

}  // namespace

bool ChunkWriters::Less::operator()(const ChunkId& a, const ChunkId& b) const {
  const auto key = [](const ChunkId& id) {
    return std::tuple(id.tree, id.slot.shard, id.slot.page, id.slot.slot, id.part);
  };
  return key(a) < key(b);
}

void ChunkWriters::Enter(const ChunkId& chunk, const StagedPtr& staged) {
  const std::lock_guard lock(mutex_);
  std::vector<Writer>& writers = writers_[chunk];
  const auto found = std::find_if(writers.begin(), writers.end(),
                                  [&](const Writer& writer) { return writer.staged == staged; });
  if (found != writers.end()) {
    ++found->opens;
  } else {
    writers.push_back({staged, 1});
  }
}

bool ChunkWriters::LeaveLocked(const ChunkId& chunk, const StagedPtr& staged) {
  const auto found = writers_.find(chunk);
  if (found == writers_.end()) return false;
  std::vector<Writer>& writers = found->second;
  const auto writer = std::find_if(writers.begin(), writers.end(),
                                   [&](const Writer& one) { return one.staged == staged; });
  if (writer == writers.end() || --writer->opens != 0) return false;
  writers.erase(writer);
  if (writers.empty()) writers_.erase(found);
  return true;
}

bool ChunkWriters::Leave(const ChunkId& chunk, const StagedPtr& staged) {
  const std::lock_guard lock(mutex_);
  return LeaveLocked(chunk, staged);
}

ChunkWriters::StagedPtr ChunkWriters::Latest(const ChunkId& chunk) const {
  const std::lock_guard lock(mutex_);
  const auto found = writers_.find(chunk);
  return found == writers_.end() ? nullptr : found->second.back().staged;
}

ChunkWriters::StagedPtr ChunkWriters::AtNode(const ChunkId& chunk, std::uint64_t node) const {
  const std::lock_guard lock(mutex_);
  const auto found = writers_.find(chunk);
  if (found == writers_.end()) return nullptr;
  for (const Writer& writer : found->second) {
    if (writer.staged->node() == node) return writer.staged;
  }
  return nullptr;
}

void ChunkWriters::Redirect(pid_t thread, const ChunkId& chunk, const StagedPtr& staged) {
  Enter(chunk, staged);
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const bool replaced = at->thread == thread && at->chunk == chunk;
    if (!replaced && now - at->since < kPatience) {
      ++at;
      continue;
    }
    LeaveLocked(at->chunk, at->staged);
    at->staged->LetGo();
    at = waiting_.erase(at);
  }
  waiting_.push_back({thread, chunk, staged, now});
}

ChunkWriters::StagedPtr ChunkWriters::Redirected(pid_t thread, const ChunkId& chunk) const {
  const std::lock_guard lock(mutex_);
  for (const Waiting& waiting : waiting_) {
    if (waiting.thread == thread && waiting.chunk == chunk) return waiting.staged;
  }
  return nullptr;
}

void ChunkWriters::TakeRedirect(pid_t thread, const ChunkId& chunk) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) {
    return waiting.thread == thread && waiting.chunk == chunk;
  });
  if (found == waiting_.end()) return;
  LeaveLocked(found->chunk, found->staged);
  found->staged->LetGo();
  waiting_.erase(found);
}

}  // namespace unshard
