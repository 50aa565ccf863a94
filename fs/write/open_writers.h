// Which staged inodes are being written, for each chunk.
//
// All handles of a chunk that were opened without O_TRUNC write to one new version, and the kernel
// keeps locks, i_size and pages for each node. So an open for writing has to be led to the node of
// the version that is being written, where it arrives at another one, and needs a node of its own
// where it arrives at a node that readers have open.
//   1. We record the staged inode for the calling thread, and answer ESTALE.
//   2. The kernel looks the name up again, in the same thread; we answer with the staged inode's
//      node, and the kernel opens that, whatever other writers have done in between.
// The kernel looks a name up again only once. A thread that got ESTALE at its first attempt, and at
// its second one is not led to a staged inode either, waits until the chunk has no writer. Threads
// with the number 0 (from another pid namespace) are indistinguishable: their open waits at once,
// and fails with EBUSY where that takes too long.
//
// A thread has one open(2) at a time, which is over once an OPEN has succeeded, or an OPEN or a
// LOOKUP has failed otherwise than with ESTALE: nothing is kept for it then. It can also fail in
// the kernel, which says nothing to us. A redirect that is left over then is recognised where the
// next OPEN of the thread does not write, or differs in O_TRUNC.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "fs/common/node_id.h"
#include "fs/write/open_file.h"
#include "fs/write/staged_inode.h"
#include "store/chunks/committed_versions.h"

namespace unshard {

// Thread-safe; does no I/O.
class OpenWriters {
 public:
  using StagedPtr = std::shared_ptr<StagedInode>;
  // A thread that was killed between the two opens never comes back.
  static constexpr std::chrono::seconds kRedirectLifetime{30};
  static constexpr std::size_t kMostEmptied = std::size_t{1} << 16;
  explicit OpenWriters(std::chrono::milliseconds redirect_lifetime = kRedirectLifetime)
      : redirect_lifetime_(redirect_lifetime) {}

  // Adds one open file, or redirected thread, to a staged inode, which makes it a writer of the
  // chunk.
  void Enter(const ChunkId& chunk, const StagedPtr& staged);
  // Removes one. True where it was the last one.
  bool Leave(const ChunkId& chunk, const StagedPtr& staged);
  // The latest staged inode of a chunk; null where it has no writer.
  StagedPtr Latest(const ChunkId& chunk) const;
  [[nodiscard]] bool IsWriter(const ChunkId& chunk, const StagedPtr& staged) const;
  // All staged inodes of a chunk that are being written.
  std::vector<StagedPtr> All(const ChunkId& chunk) const;
  [[nodiscard]] bool HasWriter(const ChunkId& chunk) const { return Latest(chunk) != nullptr; }

  // The chunk was truncated and closed while empty. Readers still get the version before; the next
  // open for writing begins with an empty file. A bounded number of chunks is remembered.
  void MarkEmptied(const ChunkId& chunk);
  void ForgetEmptied(const ChunkId& chunk);
  [[nodiscard]] bool IsEmptied(const ChunkId& chunk) const;

  // Step 1. Takes over the caller's hold on `staged`, and counts it as a writer until
  // TakeRedirect(), EndOpen() or a time limit. Not for threads with the number 0. Returns where
  // redirects led to that have ended by now: they may be open nowhere.
  [[nodiscard]] std::vector<StagedPtr> Redirect(const OpenRequest& request, const ChunkId& chunk,
                                                const StagedPtr& staged);
  // Step 2: the staged inode with which this thread's look-up of the chunk is answered; null for
  // every other thread.
  StagedPtr Redirected(pid_t thread, const ChunkId& chunk) const;
  // Ends the redirect: the thread is no longer to be led to `staged`. Returns that, where there was
  // one.
  [[nodiscard]] std::vector<StagedPtr> TakeRedirect(pid_t thread, const StagedPtr& staged);
  // Ends the redirects of the thread that `request` cannot follow. Returns where they led to.
  std::vector<StagedPtr> EndOtherRedirects(const OpenRequest& request);

  // An open of `node` for writing was answered with ESTALE: this thread's next open of the chunk
  // is the kernel's second attempt, and another ESTALE would reach the program.
  void NoteStale(pid_t thread, const ChunkId& chunk, NodeId node);
  // Whether NoteStale() was called for this thread in the last seconds; with this node, where
  // `from` is given.
  [[nodiscard]] bool WasAnsweredStale(pid_t thread, const ChunkId& chunk,
                                      std::optional<NodeId> from = std::nullopt) const;
  // The open(2) of `thread` is over: nothing is kept for it. Returns where its redirects led to.
  // Threads with the number 0 are indistinguishable: they all count as sent away for some seconds.
  std::vector<StagedPtr> EndOpen(pid_t thread);

  // Returns once `staged` has no writer, or after kLongestWait: whether it has none. Does not wait
  // where kMostWaiters threads do already.
  [[nodiscard]] bool WaitForEnd(const ChunkId& chunk, const StagedPtr& staged);

 private:
  struct Writer {
    StagedPtr staged;
    std::uint64_t opens = 0;
  };
  struct Waiting {
    pid_t thread = 0;
    bool truncates = false;
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
  void ForgetEmptiedLocked(ChunkId chunk);
  bool LeaveLocked(const ChunkId& chunk, const StagedPtr& staged);
  template <class Which>
  std::vector<StagedPtr> EndRedirectsLocked(const Which& which);
  [[nodiscard]] bool WritesLocked(const ChunkId& chunk, const StagedPtr& staged) const;

  const std::chrono::milliseconds redirect_lifetime_;
  mutable std::mutex mutex_;
  std::condition_variable left_;
  std::map<ChunkId, std::vector<Writer>, ChunkIdLess> writers_;  // guarded by mutex_; latest last
  std::list<Waiting> waiting_;                                   // guarded by mutex_
  std::list<SentAway> sent_away_;                                // guarded by mutex_; latest first
  // Guarded by mutex_; the number grows with each MarkEmptied.
  std::map<ChunkId, std::uint64_t, ChunkIdLess> emptied_;
  std::map<std::uint64_t, ChunkId> emptied_since_;  // likewise; the other way round
  std::uint64_t last_emptied_ = 0;                  // guarded by mutex_
  unsigned waiters_ = 0;                            // guarded by mutex_
};

}  // namespace unshard
