// Who is writing which chunk at the moment.
//
// Handles without O_TRUNC write to the same new version of a chunk, and locks, sizes and pages are
// those of the kernel's node: an open that arrives at another node than that of the version that is
// being written has to be led there, and one that arrives at a node that readers have open needs a
// node for itself.
//   1. We note the staged inode as this thread's, and answer ESTALE.
//   2. The kernel looks the name up again, in the same thread; we answer with the staged inode's
//      node, and the kernel opens that, whatever other writers have done in between.
// The kernel looks a name up once more, and only once: a thread whose first attempt was answered
// with ESTALE, and whose second one is not led to a staged inode all the same, waits until the
// chunk is not being written. A thread with the number 0 (in another pid name space) cannot be told
// from others: its open waits at once, and ends with EBUSY where that takes too long.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "fs/common/node_id.h"
#include "fs/write/staged_inode.h"
#include "store/chunks/committed_versions.h"

namespace unshard {

// Thread-safe; does no I/O.
class ChunkWriters {
 public:
  using StagedPtr = std::shared_ptr<StagedInode>;

  // Counts one more open file (or thread on its way) on a staged inode, which makes it a writer.
  void Enter(const ChunkId& chunk, const StagedPtr& staged);
  // One less. True where it was the last one.
  bool Leave(const ChunkId& chunk, const StagedPtr& staged);
  // The latest staged inode of a chunk; null where nobody writes it.
  StagedPtr Latest(const ChunkId& chunk) const;
  [[nodiscard]] bool IsWriter(const ChunkId& chunk, const StagedPtr& staged) const;
  // All that are being written, of one chunk.
  std::vector<StagedPtr> All(const ChunkId& chunk) const;
  [[nodiscard]] bool HasWriter(const ChunkId& chunk) const { return Latest(chunk) != nullptr; }

  // A chunk that was truncated to nothing and closed, so that readers still see what stood there:
  // who opens it next for writing begins with nothing. A bounded number of them is remembered.
  void MarkEmptied(const ChunkId& chunk);
  void ForgetEmptied(const ChunkId& chunk);
  [[nodiscard]] bool IsEmptied(const ChunkId& chunk) const;

  // Step 1. Takes over the caller's hold on `staged`, and keeps it as a writer, until it is taken
  // or has waited too long. Of threads that can be told from others.
  void Redirect(pid_t thread, const ChunkId& chunk, const StagedPtr& staged);
  // Step 2: what this thread's look-up of the chunk is to be answered with; null for everybody
  // else.
  StagedPtr Redirected(pid_t thread, const ChunkId& chunk) const;
  // Ends it: the thread has opened `staged`, whatever chunk that belongs to by now, or it is to be
  // led there no more.
  void TakeRedirect(pid_t thread, const StagedPtr& staged);

  // An open of `node` for writing was answered with ESTALE: this thread's next open of the chunk
  // is the kernel's second attempt, and an ESTALE would reach the program.
  void SendAway(pid_t thread, const ChunkId& chunk, NodeId node);
  // Whether it was, a moment ago; from this node, where one is given.
  [[nodiscard]] bool WasSentAway(pid_t thread, const ChunkId& chunk,
                                 std::optional<NodeId> from = std::nullopt) const;
  // An attempt has succeeded. Which of the threads with the number 0 that was cannot be told: they
  // all count as sent away for a moment.
  void Arrive(pid_t thread, const ChunkId& chunk);

  // Returns once `staged` is not written any more, or after kLongestWait: whether it is not. False
  // at once where too many wait.
  [[nodiscard]] bool WaitForEnd(const ChunkId& chunk, const StagedPtr& staged);

 private:
  struct Writer {
    StagedPtr staged;
    std::uint64_t opens = 0;
  };
  struct Waiting {
    pid_t thread = 0;
    ChunkId chunk;
    StagedPtr staged;
    std::chrono::steady_clock::time_point since;
  };
  struct SentAway {
    pid_t thread = 0;
    ChunkId chunk;
    NodeId node = 0;
    std::chrono::steady_clock::time_point since;
  };
  static constexpr std::chrono::seconds kLongestWait{2};
  static constexpr unsigned kMostWaiters = 16;
  static constexpr std::size_t kMostSentAway = 256;
  bool LeaveLocked(const ChunkId& chunk, const StagedPtr& staged);
  [[nodiscard]] bool WritesLocked(const ChunkId& chunk, const StagedPtr& staged) const;

  mutable std::mutex mutex_;
  std::condition_variable left_;
  std::map<ChunkId, std::vector<Writer>, ChunkIdLess> writers_;  // guarded by mutex_; latest last
  std::list<Waiting> waiting_;                                   // guarded by mutex_
  std::list<SentAway> sent_away_;                                // guarded by mutex_; latest first
  std::set<ChunkId, ChunkIdLess> emptied_;                       // guarded by mutex_
  unsigned waiters_ = 0;                                         // guarded by mutex_
};

}  // namespace unshard
