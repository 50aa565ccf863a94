// The signals that end a mount, SIGTERM, SIGINT and SIGHUP, and how they end it without a deadlock:
//   1. Notifications to the kernel stop. A notification under way may wait for a lock whose holder
//      waits for a request, so requests are still answered until it returns.
//   2. The session ends, and with it the answering of requests.
#pragma once

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

struct fuse_session;

namespace unshard {

// While it lives, the signals are blocked in the thread that made it, and in those that this
// starts.
class EndingSignalsBlocked {
 public:
  EndingSignalsBlocked();
  ~EndingSignalsBlocked();
  EndingSignalsBlocked(const EndingSignalsBlocked&) = delete;
  EndingSignalsBlocked& operator=(const EndingSignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

// Made before the session's loop by the thread that runs it, and destroyed after the loop, which
// discards pending signals.
class EndAtSignals {
 public:
  // `stop_notifying` is step 1; it is called at most once, in a thread of its own.
  EndAtSignals(fuse_session* session, std::function<void()> stop_notifying);
  ~EndAtSignals();
  EndAtSignals(const EndAtSignals&) = delete;
  EndAtSignals& operator=(const EndAtSignals&) = delete;

 private:
  void Wait();

  fuse_session* const session_;
  const std::function<void()> stop_notifying_;
  const pthread_t looping_;
  const EndingSignalsBlocked blocked_;  // also in thread_, which waits for them
  std::atomic<bool> over_ = false;      // the loop has ended
  std::thread thread_;
};

}  // namespace unshard
