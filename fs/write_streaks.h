// Threads that write one chunk file after the other.
//
// An open of an existing chunk for writing costs a second walk of the path, because the writer is
// led to a node of its own (fs/chunk_writers.h). The kernel does not say at a look-up what it is
// for; but who has just written two chunks is about to write a third. So:
//   1. Each open of a chunk is noted by thread, for writing or for reading.
//   2. The next look-up of a chunk by a thread that only wrote is answered with a node that nobody
//      else is given, with the attributes of the chunk as it is (a promise). Not that of the chunk
//      which it wrote last: copying programs look at what they have copied.
//   3. Its open for writing begins the staged inode at that node.
//   4. Whatever else is done with the node is answered with "look again" and ends the streak, and
//      the next look-up leads to the node that everybody has. A promise that is not taken before
//      the next look-up or open of another chunk ends it as well, so that a thread leaves at most
//      one such node behind for each streak.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>

#include "fs/written_chunks.h"

namespace unshard {

// Thread-safe; does no I/O. Remembers a bounded number of threads.
class WriteStreaks {
 public:
  static constexpr unsigned kStreak = 2;
  static constexpr std::size_t kMostThreads = 256;

  // Step 1, and step 3. Thread 0 is nobody.
  void Wrote(pid_t thread, const ChunkId& chunk);
  // Step 4, and opens for reading.
  void End(pid_t thread);
  // Step 2: the number of the promise, the same one again for the same chunk; nothing where none is
  // made.
  std::optional<std::uint64_t> Promise(pid_t thread, const ChunkId& chunk);

 private:
  struct Streak {
    pid_t thread = 0;
    unsigned written = 0;
    ChunkId last;
    std::optional<ChunkId> promised;
    std::uint64_t number = 0;
  };
  using Streaks = std::list<Streak>;
  [[nodiscard]] Streaks::iterator FindLocked(pid_t thread);

  std::mutex mutex_;
  Streaks streaks_;             // guarded by mutex_; latest first
  std::uint64_t promises_ = 0;  // guarded by mutex_
};

}  // namespace unshard
