// Which node a look-up of a chunk's name is answered with.
//
// The kernel keeps one i_size and one page cache for each node, keeps a dentry for its time to
// live, and opens the node of a dentry in a request of its own. Bytes must not be visible before
// they are committed, and open(2) must not fail with ESTALE, at which the kernel looks the name up
// again, but only once. FUSE does not tell which process a request belongs to (threads of another
// pid namespace have the number 0), so:
//   1. Names of chunks that are only read lead to the node that all readers share, with a time to
//      live (kCached).
//   2. While an array is written to, and while a chunk has a writer, its names lead to nodes
//      without a time to live (kRevalidated). An open of such a node follows a look-up by the same
//      open(2): for reading it is given the version of the look-up; for writing, the writer takes
//      the node over unless it is open. The next look-up leads to another node.
//   3. An open that cannot be served (the dentry still had time to live and its version is gone; a
//      writer has taken the node; readers have it open) is answered with ESTALE. From then on each
//      look-up of this chunk leads to a node of its own (kOwn), whose open is given the version of
//      the look-up or a later one, so that the kernel's second attempt succeeds whatever others do
//      in between. (A writer without O_TRUNC is led to a staged inode instead: open_writers.h.)
//      A rename of a chunk whose dentry may have a time to live is answered with ESTALE too: the
//      kernel moves the dentry to the new name, where it must have none.
//   4. An open for writing of a cached node while its chunk is in state 3 has no name to look up
//      (/proc/self/fd): it takes the node over.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <mutex>

#include "store/chunks/committed_versions.h"

namespace unshard {

enum class NodeUse { kCached, kRevalidated, kOwn };

// Thread-safe; does no I/O under its lock. Remembers a bounded number of chunks and arrays for a
// short time.
class NodeChoice {
 public:
  using Clock = std::chrono::steady_clock;
  // The second look-up follows the ESTALE at once, unless the machine is busy.
  static constexpr std::chrono::seconds kContended{5};
  static constexpr std::chrono::seconds kWritten{10};
  static constexpr std::size_t kMostChunks = 4096;
  static constexpr std::size_t kMostTrees = 256;

  explicit NodeChoice(std::chrono::milliseconds contended = kContended,
                      std::chrono::milliseconds written = kWritten)
      : contended_for_(contended), written_for_(written) {}

  // State 2: a chunk of this array was opened for writing.
  void Wrote(const ChunkId& chunk);
  // State 3: an open, or a rename, of this chunk was answered with ESTALE.
  void NoteStale(const ChunkId& chunk);
  [[nodiscard]] bool IsContended(const ChunkId& chunk) const;
  [[nodiscard]] NodeUse UseFor(const ChunkId& chunk) const;

 private:
  struct Written {
    std::uint32_t tree = 0;
    Clock::time_point last;
  };

  const std::chrono::milliseconds contended_for_;
  const std::chrono::milliseconds written_for_;
  mutable std::mutex mutex_;
  std::map<ChunkId, Clock::time_point, ChunkIdLess> contended_;  // guarded by mutex_
  std::list<Written> written_;                                   // guarded by mutex_; latest first
};

}  // namespace unshard
