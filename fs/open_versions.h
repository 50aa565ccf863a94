// What programs that have a chunk open see of it, for as long as they do.
//
// Somebody who has a file open may be told its attributes anew although the node that he opened no
// longer stands for what others are shown: a later version was written, and the shard was replaced.
// His file is the version that he opened, and so are its attributes: with those of the later one
// the kernel would cut off what he reads.
#pragma once

#include <cstdint>
#include <ctime>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "fs/node_id.h"

namespace unshard {

// Thread-safe; does no I/O.
class OpenVersions {
 public:
  struct Shown {
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    timespec modified{};
  };
  // One more open file at this node. All that are open at once show the same version.
  void Opened(NodeId node, const Shown& shown);
  void Closed(NodeId node);
  // Nothing where nobody has it open.
  [[nodiscard]] std::optional<Shown> Find(NodeId node) const;

 private:
  struct Open {
    Shown shown;
    std::uint64_t files = 0;
  };
  mutable std::mutex mutex_;
  std::unordered_map<NodeId, Open> open_;  // guarded by mutex_
};

}  // namespace unshard
