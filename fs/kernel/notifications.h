// Notifications of the kernel, written by a thread that has a device of its own.
//
// A notification waits in the kernel for the lock of a directory, or for a page, whose holder may
// wait for an answer of the daemon. If the daemon is killed meanwhile, the thread that notifies
// cannot end, and keeps its files open. When a device is closed, the kernel ends the requests that
// were read from it with ECONNABORTED. So this thread has a device of its own
// (FUSE_DEV_IOC_CLONE) and shares no file with the others: when they end, the device that they read
// is closed, the holder of the lock goes on, and the thread ends too, without the guardian. A
// request that the daemon had not read waits for the guardian, or until its program is killed.
#pragma once

#include <linux/fuse.h>
#include <sys/uio.h>

#include <condition_variable>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "fs/common/counters.h"
#include "fs/kernel_invalidation.h"

struct fuse_session;

namespace unshard {

class Notifications final : public KernelNotifier {
 public:
  // `session`: is mounted, and outlives this object. Where there can be no second device, each
  // method writes to the session's.
  Notifications(fuse_session* session, Counters& counters);
  ~Notifications() override;
  Notifications(const Notifications&) = delete;
  Notifications& operator=(const Notifications&) = delete;

  // Each returns once the kernel was notified; that it does not know the name or the node is no
  // failure. One caller at a time.
  void InvalidateEntry(NodeId parent, const std::string& name) override;
  void InvalidateInode(NodeId node) override;

 private:
  // The first part is that of the header.
  void Send(fuse_notify_code code, std::span<iovec> message);
  void Serve(int device);

  fuse_session* const session_;
  Counters& counters_;
  std::mutex mutex_;
  std::condition_variable changed_;
  enum class State { kStarting, kServing, kEnding } state_ = State::kStarting;  // guarded by mutex_
  bool alone_ = false;              // guarded by mutex_; the thread shares no file
  std::span<const iovec> message_;  // guarded by mutex_; being sent
  std::thread thread_;              // runs if it has a device of its own
};

}  // namespace unshard
