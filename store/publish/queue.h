// Decides when shards are published, and runs publishes on a few threads.
//
// A dirty shard is published when it is complete, when no chunk has been committed to it for a
// while or it has been dirty for ten times as long, when the spool is above its high water (those
// with most bytes first), when a caller waits for it, and when the queue is drained. A publish that
// fails is repeated after a pause that grows to a minute, to ten minutes where a store over a
// network denies it. A publish that cannot succeed (the format cannot be written, the directory is
// read-only) is repeated only when a caller waits for it. Chunks committed while their shard is
// published make it dirty again. If the store as a whole is away all shards wait together, and
// are tried one at a time. Once the store answers one of these, or any other request, all are
// published at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "store/object/deadline.h"

namespace unshard {

// A shard of the mount: the ordinal of its chunk tree, and its number there.
struct DirtyShard {
  std::uint64_t tree = 0;
  std::uint64_t shard = 0;
  friend auto operator<=>(const DirtyShard&, const DirtyShard&) = default;
};

struct PublishQueueOptions {
  std::chrono::milliseconds publish_after{5000};
  unsigned threads = 2;
  // Above this much that is dirty the largest shards are published without waiting. 0: no limit.
  std::uint64_t high_water_bytes = 0;
  std::uint64_t high_water_files = 0;
  // Whether a publish failed because the store is away, so that others would fail as well; null: no
  // failure says so.
  std::function<bool(const Error& error)> is_away = nullptr;
  // Asks the store whether it is back, where it is away and nothing is dirty; false: it is not.
  // Called on a thread of the queue, which may wait for the store. Null: nothing is asked then.
  std::function<bool()> ask = nullptr;
};

struct PublishProgress {
  std::uint64_t dirty_shards = 0, dirty_chunks = 0, dirty_bytes = 0;
  std::uint64_t running = 0;
  std::optional<std::chrono::milliseconds> oldest;  // age of the oldest unpublished chunk
  std::uint64_t publishes = 0;                      // successful, since the start
  std::uint64_t failures = 0;
  std::optional<Error> last_error;  // of a shard that is still dirty
};

// Thread-safe.
class PublishQueue {
 public:
  // What one publish has done: how many of the shard's chunks and bytes are no longer dirty.
  struct Done {
    std::uint64_t chunks = 0, bytes = 0;
    bool rewritten = true;  // false: nothing was left to do, so that it does not count
  };
  using Publish = std::function<Result<Done>(const DirtyShard&)>;
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // Starts the threads. `publish` is called on them, never twice at a time for one shard, and has
  // to publish all that was added to the shard before it was called. Throws std::system_error where
  // the system allows not even one thread.
  PublishQueue(Publish publish, const PublishQueueOptions& options, Clock clock = nullptr);
  ~PublishQueue();  // stops after running publishes; does not drain

  // `chunks` and `bytes` were committed to a shard; negative where a commit replaced a larger one.
  // `complete`: all its chunks are in the spool now.
  void Add(const DirtyShard& shard, std::int64_t chunks, std::int64_t bytes, bool complete);
  // Publishes this shard at once, also where it failed a moment ago, and waits until what was added
  // before the call is published. Returns the error of an attempt that began after the call, also
  // of another shard where the store is away, and that of Deadline::Check where the deadline is
  // over before: a running publish goes on.
  Status Flush(const DirtyShard& shard, const Deadline& deadline = Deadline::None());
  // The same for all; every shard is tried, the first error is returned.
  Status FlushAll(const Deadline& deadline = Deadline::None());
  // Blocks while the spool is fuller than a writer may fill it. Fails (kResourceExhausted with
  // ENOSPC) where there is still no room after publishing has failed since the call, a few times in
  // a row or with all that there is, and where nothing is left to publish; `deadline` as above.
  // `has_room` may lock.
  Status WaitForRoom(const std::function<bool()>& has_room,
                     const Deadline& deadline = Deadline::None());
  // A writer was refused for want of room: publishes as while a caller waits for room, until
  // an attempt begins. Does not wait.
  void WantRoom();
  // Whether the store was found away, by an attempt or by other means, and has not answered since.
  [[nodiscard]] bool StoreIsAway() const;
  void FoundStoreAway(const Error& error);
  // It has answered a request of others: what waits for it is published. Where publishes go on to
  // fail they have their growing pause again, whatever other requests are answered.
  void StoreAnswered();
  [[nodiscard]] PublishProgress progress() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace unshard
