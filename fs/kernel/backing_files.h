// FUSE passthrough, of Linux 6.9 on: reads, writes and mappings of a file of the source, which a
// writable mount presents as it is, go from the kernel to that file and send no request.
//
// 1. OPEN or CREATE has opened the file of the source. Where its node is not open, the kernel is
//    given that file as a backing file (FUSE_DEV_IOC_BACKING_OPEN); where it is open, the backing
//    file is the same, because the kernel accepts no other one for an inode.
// 2. The reply says FOPEN_PASSTHROUGH and names the backing file.
// 3. The backing file is closed with the last RELEASE. The kernel drops an open file from its own
//    count before it sends RELEASE: it may have fewer open files at a node than are counted here,
//    and never has more.
//
// A node is one file of the source, so each node needs one backing file. Where the kernel takes no
// backing file (it is older, the daemon lacks CAP_SYS_ADMIN, or the source is on overlayfs or
// FUSE), the node is opened as before, and read and written by requests.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "fs/common/node_id.h"

namespace unshard {

// Of one FUSE connection. Thread-safe.
class BackingFiles {
 public:
  // `device`: /dev/fuse. Without this no file has a backing file.
  void Start(int device) { device_ = device; }

  // Counts one more open file at `node`, and returns its backing file; 0: it has none.
  // `descriptor`: of the file of the source; -1: it has none.
  std::uint32_t Opened(NodeId node, int descriptor);
  void Released(NodeId node);

 private:
  struct Open {
    std::uint64_t count = 0;
    std::uint32_t backing = 0;
  };
  // With mutex_ held.
  std::uint32_t OpenBacking(int descriptor);

  std::atomic<int> device_{-1};  // -1: not started
  std::mutex mutex_;
  bool refused_ = false;                   // guarded by mutex_; the kernel takes none at all
  std::unordered_map<NodeId, Open> open_;  // guarded by mutex_; by node
};

}  // namespace unshard
