// Who is writing which chunk at the moment.
//
// The kernel knows a file by its node, and has one size and one set of pages for it. A writer's
// bytes must not be seen by readers before they are committed, so a writer gets a node of its own:
//   1. A program opens the chunk's present node for writing. We begin (or join) a staged inode,
//      note it as this thread's, and answer ESTALE.
//   2. The kernel looks the name up again, once, in the same thread; we answer with the staged
//      inode's node, which nobody else is ever given, and the kernel opens that.
//      Who writes one chunk after the other is given such a node at the first look-up already
//      (fs/write_streaks.h).
//   3. As long as a chunk has a writer its name is given to the kernel without a time to live, so
//      that from the commit on everybody is sent to the new version.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "fs/staged_inode.h"
#include "fs/written_chunks.h"

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
  // The one with this node; null where there is none.
  StagedPtr AtNode(const ChunkId& chunk, std::uint64_t node) const;
  [[nodiscard]] bool HasWriter(const ChunkId& chunk) const { return Latest(chunk) != nullptr; }

  // Step 1. Takes over the caller's hold on `staged`, and keeps it as a writer, until it is taken
  // or has waited too long.
  void Redirect(pid_t thread, const ChunkId& chunk, const StagedPtr& staged);
  // Step 2: what this thread's look-up of the chunk is to be answered with; null for everybody
  // else.
  StagedPtr Redirected(pid_t thread, const ChunkId& chunk) const;
  // The open that ends it.
  void TakeRedirect(pid_t thread, const ChunkId& chunk);

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
  struct Less {
    bool operator()(const ChunkId& a, const ChunkId& b) const;
  };
  bool LeaveLocked(const ChunkId& chunk, const StagedPtr& staged);

  mutable std::mutex mutex_;
  std::map<ChunkId, std::vector<Writer>, Less> writers_;  // guarded by mutex_; latest last
  std::list<Waiting> waiting_;                            // guarded by mutex_
};

}  // namespace unshard
