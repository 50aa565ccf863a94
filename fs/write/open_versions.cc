#include "fs/write/open_versions.h"

#include <utility>

namespace unshard {

bool OpenVersions::Opened(NodeId node, const Presented& presented) {
  const std::lock_guard lock(mutex_);
  if (written_.contains(node)) return false;
  Open& open = open_[node];
  open.presented = presented;
  ++open.files;
  return true;
}

void OpenVersions::Closed(NodeId node) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(node);
  if (found == open_.end() || --found->second.files != 0) return;
  open_.erase(found);
  freed_.notify_all();
}

std::optional<OpenVersions::Presented> OpenVersions::Find(NodeId node) const {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(node);
  if (found == open_.end()) return std::nullopt;
  return found->second.presented;
}

bool OpenVersions::BeginWriting(NodeId node, const StagedPtr& staged, Begin begin) {
  StagedPtr before;  // its bytes are released after the lock
  const std::lock_guard lock(mutex_);
  if (!IsFreeLocked(node)) return false;
  Written& written = written_[node];
  before = std::exchange(written, Written{staged, begin}).staged;
  return true;
}

OpenVersions::StagedPtr OpenVersions::StagedAt(NodeId node) const {
  const std::lock_guard lock(mutex_);
  const auto found = written_.find(node);
  return found == written_.end() ? nullptr : found->second.staged;
}

bool OpenVersions::IsTaken(NodeId node) const {
  const std::lock_guard lock(mutex_);
  const auto found = written_.find(node);
  return found != written_.end() && found->second.begin == Begin::kTakenOver;
}

bool OpenVersions::IsFreeLocked(NodeId node) const {
  const auto found = written_.find(node);
  return !open_.contains(node) && (found == written_.end() || found->second.ended);
}

bool OpenVersions::AwaitFree(NodeId node) {
  std::unique_lock lock(mutex_);
  if (waiters_ == kMostWaiters) return IsFreeLocked(node);
  ++waiters_;
  const bool free = freed_.wait_for(lock, kLongestWait, [&] { return IsFreeLocked(node); });
  --waiters_;
  return free;
}

void OpenVersions::EndWriting(NodeId node, const StagedPtr& staged, End end) {
  StagedPtr dropped;  // its bytes are released after the lock
  const std::lock_guard lock(mutex_);
  const auto found = written_.find(node);
  // Another writer may have taken the node since `staged` ended.
  if (found == written_.end() || found->second.staged != staged) return;
  found->second.ended = true;
  if (end == End::kGivenBack) {
    dropped = std::move(found->second.staged);
    written_.erase(found);
  }
  freed_.notify_all();
}

void OpenVersions::Forget(NodeId node) {
  StagedPtr dropped;  // its bytes are released after the lock
  const std::lock_guard lock(mutex_);
  const auto found = written_.find(node);
  if (found == written_.end()) return;
  dropped = std::move(found->second.staged);
  written_.erase(found);
}

}  // namespace unshard
