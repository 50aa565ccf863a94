// What stands at a node for as long as programs have it open: the version that readers opened, or
// the file that a writer writes. Never both: the kernel has one i_size and one page cache for them.
//
// Somebody who has a file open may be told its attributes anew although the node that he opened no
// longer stands for what others are shown: a later version was written, and the shard was replaced.
// His file is the version that he opened, and so are its attributes: with those of the later one
// the kernel would cut off what he reads.
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
  struct Shown {
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    timespec modified{};
  };
  // One more open file at this node. All that are open at once show the same version. False, and
  // nothing is counted, where a writer has the node.
  [[nodiscard]] bool Opened(NodeId node, const Shown& shown);
  void Closed(NodeId node);
  // Nothing where nobody has it open.
  [[nodiscard]] std::optional<Shown> Find(NodeId node) const;

  // kCreated: no look-up led to this node before. kTakenOver: one did, to the committed version.
  enum class Begin { kCreated, kTakenOver };
  // From now on the node stands for `staged`. False where somebody has it open, or writes it.
  [[nodiscard]] bool BeginWriting(NodeId node, const StagedPtr& staged, Begin begin);
  // `staged` has ended, and nobody has the node open. kGivenBack: it stands for the committed
  // version again, because the kernel has no other pages of it. kStaysTaken: it answers no look-up
  // any more; who has it open by O_PATH alone can begin to write it anew.
  enum class End { kGivenBack, kStaysTaken };
  void EndWriting(NodeId node, const StagedPtr& staged, End end);
  // Returns once BeginWriting would succeed, or after a while: whether it would.
  [[nodiscard]] bool AwaitFree(NodeId node);
  // Null where no writer has it.
  [[nodiscard]] StagedPtr StagedAt(NodeId node) const;
  // A writer has, or had, taken the node over: it is no answer to a look-up or an open any more.
  [[nodiscard]] bool IsTaken(NodeId node) const;
  // The kernel has forgotten the node.
  void Forget(NodeId node);

 private:
  struct Open {
    Shown shown;
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
