// What libfuse does not pass on to the kernel: settings of the FUSE connection, and backing files.
#pragma once

#include <cstdint>
#include <functional>

#include "fs/kernel/operations.h"

namespace unshard {

// Intercepts the reply to FUSE_INIT and
//  - adds FUSE_PARALLEL_DIROPS: look-ups and listings of one directory may run side by side.
//    libfuse before 3.17 accepts that flag and does not pass it on, and the kernel sends them one
//    at a time;
//  - adds FUSE_HANDLE_KILLPRIV_V2: the kernel need not ask before each write(2) whether the file
//    has privileges that the write ends (File::DropPrivileges);
//  - adds FUSE_NO_EXPORT_SUPPORT: no file handles for NFS servers;
//  - adds FUSE_PASSTHROUGH where the context says so (fs/kernel/backing_files.h);
//  - accepts FUSE over io_uring where the context wants it and the kernel offers it
//    (fs/kernel/ring_queues.h): replies to requests that came that way go back that way;
//  - then raises the mount's read-ahead, so that one READ asks for a whole chunk of usual size.
//    Only root may; for other users the read-ahead stays.
// Call it once, between mounting and serving. The session's user data must be a FuseContext.
void TuneFirstReply(fuse_session* session);

// While it lives, the reply that this thread writes to OPEN or CREATE says FOPEN_PASSTHROUGH and
// names this backing file, which libfuse before 3.17 cannot. 0: it is left as it is.
class BackingOfReply {
 public:
  explicit BackingOfReply(std::uint32_t backing);
  ~BackingOfReply();
  BackingOfReply(const BackingOfReply&) = delete;
  BackingOfReply& operator=(const BackingOfReply&) = delete;
};

// While it lives, `failed` is called with the error number of a reply that this thread writes and
// that is an error, before it is written: libfuse decides on such a reply itself where it can't
// splice. `failed` must not throw.
class WatchedReply {
 public:
  using Failed = std::function<void(int system_errno)>;
  explicit WatchedReply(const Failed& failed);
  ~WatchedReply();
  WatchedReply(const WatchedReply&) = delete;
  WatchedReply& operator=(const WatchedReply&) = delete;
};

}  // namespace unshard
