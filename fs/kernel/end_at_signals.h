// Ends a mount at SIGTERM, SIGINT or SIGHUP without anybody waiting for anybody:
//   1. Nobody is told of changes any more. Who is being told may have to wait for a request that
//      holds what he is told about, so requests are still answered until he is done.
//   2. The session ends, and with it the answering of requests.
#pragma once

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

struct fuse_session;

namespace unshard {

// The signals are blocked in the thread that makes this, and in those that it starts, from
// construction to destruction; those that came are forgotten then. Made and destroyed by the thread
// that runs the session's loop, around it.
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
