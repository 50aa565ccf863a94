// For each node that is open: the version that its readers have open, or the staged inode that its
// writers write. Never both, because the kernel keeps one i_size and one page cache for a node.
//
// GETATTR of an open node answers with the version that was opened, even after a later version was
// written and the shard was replaced: with the size of the later one the kernel would cut off what
// the reader reads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "fs/common/node_id.h"
#include "fs/write/staged_inode.h"

namespace unshard {

// Thread-safe; does no I/O.
class OpenVersions {
 public:
  using StagedPtr = std::shared_ptr<StagedInode>;
  struct Presented {
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    timespec modified{};
  };
  // Counts one more open file at this node. All files that are open at a node at once have the same
  // version. False, and nothing is counted, where a writer has the node.
  [[nodiscard]] bool Opened(NodeId node, const Presented& presented);
  void Closed(NodeId node);
  // Nothing where the node is not open.
  [[nodiscard]] std::optional<Presented> Find(NodeId node) const;

  // kCreated: no look-up has led to this node before. kTakenOver: one has, for the committed
  // version.
  enum class Begin { kCreated, kTakenOver };
  // From now on the node is that of `staged`. False where it is open, or has a writer.
  [[nodiscard]] bool BeginWriting(NodeId node, const StagedPtr& staged, Begin begin);
  // `staged` has ended, and no file is open at the node. kGivenBack: the node is that of the
  // committed version again, of which alone the kernel has pages. kStaysTaken: no look-up is
  // answered with it any more; a writer that reaches it by an O_PATH descriptor can take it again.
  // An arithmetic node is given back later, once the kernel has dropped its pages.
  enum class End { kGivenBack, kStaysTaken };
  void EndWriting(NodeId node, const StagedPtr& staged, End end);
  // Returns once BeginWriting would succeed, or after kLongestWait: whether it would.
  [[nodiscard]] bool AwaitFree(NodeId node);
  // The staged inode that has the node, or had it last; null where none has.
  [[nodiscard]] StagedPtr StagedAt(NodeId node) const;
  // A writer has, or had, taken the node over: no open is answered with it any more.
  [[nodiscard]] bool IsTaken(NodeId node) const;
  // The same, or a writer has created the node. Of these the file may have lost its name since, and
  // another one have got that: no look-up by others is answered with either.
  [[nodiscard]] bool IsWriters(NodeId node) const { return StagedAt(node) != nullptr; }
  // The kernel has forgotten the node.
  void Forget(NodeId node);

 private:
  struct Open {
    Presented presented;
    std::uint64_t files = 0;
  };
  struct Written {
    StagedPtr staged;
    Begin begin = Begin::kCreated;
    bool ended = false;
  };
  static constexpr std::chrono::seconds kLongestWait{2};
  static constexpr unsigned kMostWaiters = 16;
  [[nodiscard]] bool IsFreeLocked(NodeId node) const;

  mutable std::mutex mutex_;
  std::condition_variable freed_;
  unsigned waiters_ = 0;                         // guarded by mutex_
  std::unordered_map<NodeId, Open> open_;        // guarded by mutex_
  std::unordered_map<NodeId, Written> written_;  // guarded by mutex_
};

}  // namespace unshard
