// Ends a mount at SIGTERM, SIGINT or SIGHUP without a deadlock:
//   1. Notifications to the kernel stop. One that is under way may wait for a lock whose holder
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

// The signals are blocked in the constructing thread, and in those that it starts, until
// destruction, which discards pending ones. The thread that runs the session's loop constructs it
// before the loop and destroys it after.
class EndAtSignals {
 public:
  // `stop_telling` is step 1; it is called at most once, in a thread of its own.
  EndAtSignals(fuse_session* session, std::function<void()> stop_telling);
  ~EndAtSignals();
  EndAtSignals(const EndAtSignals&) = delete;
  EndAtSignals& operator=(const EndAtSignals&) = delete;

 private:
  void Wait();

  fuse_session* const session_;
  const std::function<void()> stop_telling_;
  const pthread_t looping_;
  sigset_t before_{};
  std::atomic<bool> over_ = false;  // the loop has ended
  std::thread thread_;
};

}  // namespace unshard
