#include "store/publish/dirty_shards.h"

#include <algorithm>

namespace unshard {
namespace {

// A shard that is never idle is published after so many times publish_after.
constexpr int kMostPauses = 10;

}  // namespace

void DirtyShards::Add(const DirtyShard& shard, std::int64_t chunks, std::int64_t bytes,
                      bool complete, Time now) {
  const auto [found, fresh] = entries_.try_emplace(shard);
  Entry& entry = found->second;
  if (fresh) {
    entry.first = now;
    entry.published = last_addition_;
  } else {
    Unindex(shard, entry);
  }
  entry.chunks += chunks;
  entry.bytes += bytes;
  entry.last = now;
  entry.complete = entry.complete || complete;
  entry.added = ++last_addition_;
  if (entry.running && !entry.first_since) entry.first_since = now;
  chunks_ += chunks;
  bytes_ += bytes;
  Index(shard, entry);
}

void DirtyShards::Force(const DirtyShard& shard) {
  const auto found = entries_.find(shard);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  Unindex(shard, entry);
  entry.forced = true;
  entry.wanted = entry.added;
  Index(shard, entry);
}

std::optional<DirtyShard> DirtyShards::Due(Time now) const {
  if (by_due_.empty() || by_due_.begin()->first > now) return std::nullopt;
  return by_due_.begin()->second;
}

std::optional<DirtyShard> DirtyShards::Largest() const {
  if (by_bytes_.empty()) return std::nullopt;
  return by_bytes_.rbegin()->second;
}

std::optional<DirtyShard> DirtyShards::Earliest() const {
  if (by_due_.empty()) return std::nullopt;
  return by_due_.begin()->second;
}

std::optional<DirtyShards::Time> DirtyShards::NextDue() const {
  if (by_due_.empty()) return std::nullopt;
  return by_due_.begin()->first;
}

void DirtyShards::Begin(const DirtyShard& shard) {
  Entry& entry = entries_.at(shard);
  Unindex(shard, entry);
  entry.running = true;
  entry.forced = false;
  // The next addition tells again whether the shard is complete.
  entry.complete = false;
  entry.attempt = ++last_attempt_;
  entry.attempt_covers = entry.added;
  entry.attempt_chunks = entry.chunks;
  entry.attempt_bytes = entry.bytes;
  entry.first_since.reset();
  attempt_chunks_ += entry.attempt_chunks;
  attempt_bytes_ += entry.attempt_bytes;
  ++running_;
  Index(shard, entry);
}

void DirtyShards::EndAttempt(Entry& entry) {
  entry.running = false;
  attempt_chunks_ -= entry.attempt_chunks;
  attempt_bytes_ -= entry.attempt_bytes;
  --running_;
}

void DirtyShards::MarkPublished(const DirtyShard& shard, const PublishQueue::Done& done) {
  const auto found = entries_.find(shard);
  Entry& entry = found->second;
  Unindex(shard, entry);
  EndAttempt(entry);
  if (entry.added == entry.attempt_covers) {
    chunks_ -= entry.chunks;
    bytes_ -= entry.bytes;
    entries_.erase(found);
    return;
  }
  // The attempt may or may not have published chunks that were added while it ran: the shard stays
  // dirty, whatever its counts are, until one more attempt.
  chunks_ -= static_cast<std::int64_t>(done.chunks);
  bytes_ -= static_cast<std::int64_t>(done.bytes);
  entry.chunks -= static_cast<std::int64_t>(done.chunks);
  entry.bytes -= static_cast<std::int64_t>(done.bytes);
  entry.published = entry.attempt_covers;
  if (entry.published >= entry.wanted) entry.forced = false;
  entry.first = entry.first_since.value_or(entry.last);
  entry.error.reset();
  entry.pause = std::chrono::milliseconds(0);
  Index(shard, entry);
}

void DirtyShards::FailUntil(const DirtyShard& shard, Error error, std::chrono::milliseconds pause,
                            Time until) {
  Entry& entry = entries_.at(shard);
  Unindex(shard, entry);
  EndAttempt(entry);
  entry.failed_attempt = entry.attempt;
  entry.error = std::move(error);
  entry.pause = pause;
  entry.not_before = until;
  Index(shard, entry);
}

const DirtyShards::Entry* DirtyShards::Find(const DirtyShard& shard) const {
  const auto found = entries_.find(shard);
  return found == entries_.end() ? nullptr : &found->second;
}

std::optional<Error> DirtyShards::LastError() const {
  if (failed_.empty()) return std::nullopt;
  return Find(failed_.rbegin()->second)->error;
}

DirtyShards::Time DirtyShards::DueTime(const Entry& entry) const {
  if (entry.forced) return Time::min();
  if (entry.error) return entry.not_before;
  if (entry.complete) return entry.last;
  return std::min(entry.last + publish_after_, entry.first + kMostPauses * publish_after_);
}

void DirtyShards::Unindex(const DirtyShard& shard, const Entry& entry) {
  if (entry.error) failed_.erase({entry.failed_attempt, shard});
  if (entry.running) return;
  by_due_.erase({DueTime(entry), shard});
  if (!entry.error) by_bytes_.erase({entry.bytes, shard});
}

void DirtyShards::Index(const DirtyShard& shard, const Entry& entry) {
  if (entry.error) failed_.insert({entry.failed_attempt, shard});
  if (entry.running) return;
  by_due_.insert({DueTime(entry), shard});
  if (!entry.error) by_bytes_.insert({entry.bytes, shard});
}

}  // namespace unshard
