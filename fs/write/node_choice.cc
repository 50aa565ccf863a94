#include "fs/write/node_choice.h"

#include <algorithm>

namespace unshard {

void NodeChoice::Wrote(const ChunkId& chunk) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(written_.begin(), written_.end(), [&](const Written& written) {
    return written.tree == chunk.tree;
  });
  if (found == written_.end()) {
    written_.push_front({chunk.tree, now});
    if (written_.size() > kMostTrees) written_.pop_back();
  } else {
    found->last = now;
    written_.splice(written_.begin(), written_, found);
  }
}

void NodeChoice::NoteStale(const ChunkId& chunk) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (contended_.size() >= kMostChunks) {
    std::erase_if(contended_, [&](const auto& one) { return now - one.second >= contended_for_; });
    const auto earlier = [](const auto& a, const auto& b) { return a.second < b.second; };
    if (contended_.size() >= kMostChunks) {
      contended_.erase(std::min_element(contended_.begin(), contended_.end(), earlier));
    }
  }
  contended_[chunk] = now;
}

bool NodeChoice::IsContended(const ChunkId& chunk) const {
  const std::lock_guard lock(mutex_);
  const auto found = contended_.find(chunk);
  return found != contended_.end() && Clock::now() - found->second < contended_for_;
}

NodeUse NodeChoice::UseFor(const ChunkId& chunk) const {
  if (IsContended(chunk)) return NodeUse::kOwn;
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  for (const Written& written : written_) {
    if (now - written.last >= written_for_) break;
    if (written.tree == chunk.tree) return NodeUse::kRevalidated;
  }
  return NodeUse::kCached;
}

}  // namespace unshard
