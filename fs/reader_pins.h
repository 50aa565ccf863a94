// Readers that met a commit between their look-up and their open.
//
// The kernel looks a name up and opens the node that it was given in two requests, and a chunk can
// be committed in between. It tries again once; with a second commit in that moment the program
// would be told ESTALE, which programs do not expect of an open. So:
//   1. A thread's open finds that readers are shown another version by now. It is answered with
//      ESTALE, and the thread is noted here.
//   2. The kernel looks the name up again in the same thread, possibly twice. The version that is
//      the answer is pinned for this thread, the latest one last.
//   3. The kernel opens that node and gets the pinned bytes, whatever was committed meanwhile: the
//      program's open began before that, so that either version is the right one.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>

#include "fs/chunk_content.h"
#include "fs/node_id.h"
#include "fs/written_chunks.h"

namespace unshard {

// Thread-safe; does no I/O under its lock. Holds a bounded number of pins for a short time.
class ReaderPins {
 public:
  // A thread that was killed in between never comes back; and an open of a later call must not be
  // given bytes of the past, so that this is short.
  static constexpr std::chrono::milliseconds kPatience{500};
  static constexpr std::size_t kMostPins = 256;

  explicit ReaderPins(std::chrono::milliseconds patience = kPatience) : patience_(patience) {}

  // Step 1. Thread 0 is nobody: its look-ups cannot be told from those of others.
  void SendAway(pid_t thread, const ChunkId& chunk);
  // Step 2: whether this thread's look-up of the chunk is to be pinned.
  [[nodiscard]] bool Awaits(pid_t thread, const ChunkId& chunk) const;
  // Nothing where it is not awaited any more.
  void Pin(pid_t thread, const ChunkId& chunk, NodeId node, ContentPtr content);
  // The look-up failed, or there is no chunk any more: no open follows.
  void GiveUp(pid_t thread, const ChunkId& chunk) { Take(thread, chunk, 0); }
  // Step 3, at any open of the chunk by this thread, which ends the wait. Null where nothing is
  // pinned, or another node.
  ContentPtr Take(pid_t thread, const ChunkId& chunk, NodeId node);

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    pid_t thread = 0;
    ChunkId chunk;
    NodeId node = 0;
    ContentPtr content = nullptr;
    Clock::time_point since;
  };
  using Pins = std::list<Waiting>;
  [[nodiscard]] Pins::const_iterator FindLocked(pid_t thread, const ChunkId& chunk) const;

  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  Pins waiting_;  // guarded by mutex_; oldest first
};

}  // namespace unshard
