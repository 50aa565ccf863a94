// The shards that wait to be published, in the orders in which they may be chosen.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "store/publish/queue.h"

namespace unshard {

// Bookkeeping without threads or a clock of its own. Not thread-safe.
class DirtyShards {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Entry {
    std::int64_t chunks = 0, bytes = 0;
    Time first{}, last{};         // when the oldest unpublished chunk was added, and the latest
    bool complete = false;        // all chunks of the shard are there
    bool forced = false;          // a caller waits for an attempt that begins from now on
    std::uint64_t added = 0;      // number of the latest addition
    std::uint64_t wanted = 0;     // the latest addition that a caller waits for
    std::uint64_t published = 0;  // all additions up to this one are published

    std::uint64_t attempt = 0;  // number of the latest attempt; 0: none
    bool running = false;
    std::uint64_t attempt_covers = 0;  // additions that were there when it began
    std::int64_t attempt_chunks = 0, attempt_bytes = 0;
    std::optional<Time> first_since;  // the first addition since it began

    std::uint64_t failed_attempt = 0;
    std::optional<Error> error;          // of failed_attempt; nothing after a success
    std::chrono::milliseconds pause{0};  // before the next one
    Time not_before{};
  };

  explicit DirtyShards(std::chrono::milliseconds publish_after) : publish_after_(publish_after) {}

  void Add(const DirtyShard& shard, std::int64_t chunks, std::int64_t bytes, bool complete,
           Time now);
  // Makes a shard that is not running the next to be chosen. A shard that runs is chosen again if
  // this attempt fails or does not cover what was added by now.
  void Force(const DirtyShard& shard);

  // The shard whose time has come; the largest shard that has not failed; the shard whose time
  // comes first, failed or not. Nothing where there is none. None of the three runs.
  [[nodiscard]] std::optional<DirtyShard> Due(Time now) const;
  [[nodiscard]] std::optional<DirtyShard> Largest() const;
  [[nodiscard]] std::optional<DirtyShard> Earliest() const;
  // When the next shard is due.
  [[nodiscard]] std::optional<Time> NextDue() const;

  void Begin(const DirtyShard& shard);
  void MarkPublished(const DirtyShard& shard, const PublishQueue::Done& done);
  void FailUntil(const DirtyShard& shard, Error error, std::chrono::milliseconds pause, Time until);

  // Null where the shard is clean.
  [[nodiscard]] const Entry* Find(const DirtyShard& shard) const;
  [[nodiscard]] const std::map<DirtyShard, Entry>& entries() const { return entries_; }
  // Number of the latest attempt of any shard.
  [[nodiscard]] std::uint64_t last_attempt() const { return last_attempt_; }
  [[nodiscard]] std::uint64_t running() const { return running_; }
  [[nodiscard]] std::int64_t chunks() const { return chunks_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  // Of these, what no running attempt is publishing.
  [[nodiscard]] std::int64_t waiting_chunks() const { return chunks_ - attempt_chunks_; }
  [[nodiscard]] std::int64_t waiting_bytes() const { return bytes_ - attempt_bytes_; }
  [[nodiscard]] std::optional<Error> LastError() const;

 private:
  using Entries = std::map<DirtyShard, Entry>;

  [[nodiscard]] Time DueTime(const Entry& entry) const;
  // Takes a shard out of the orders before its entry changes, and puts it back after.
  void Unindex(const DirtyShard& shard, const Entry& entry);
  void Index(const DirtyShard& shard, const Entry& entry);
  void EndAttempt(Entry& entry);

  const std::chrono::milliseconds publish_after_;
  Entries entries_;
  std::set<std::pair<Time, DirtyShard>> by_due_;            // all that do not run
  std::set<std::pair<std::int64_t, DirtyShard>> by_bytes_;  // of these, those that have not failed
  std::set<std::pair<std::uint64_t, DirtyShard>> failed_;   // by attempt
  // Numbers are never used twice, so that a shard that was clean in between is not taken for what
  // it was before.
  std::uint64_t last_addition_ = 0, last_attempt_ = 0;
  std::uint64_t running_ = 0;
  std::int64_t chunks_ = 0, bytes_ = 0;
  std::int64_t attempt_chunks_ = 0, attempt_bytes_ = 0;
};

}  // namespace unshard
