// What ends the waits and the loops of a request: FUSE_INTERRUPT, and the end of the mount.
#pragma once

#include <stop_token>

struct fuse_req;  // of libfuse

namespace unshard {

// While it lives, an interrupt of `request` requests the stop of token(). It may outlive the reply.
class InterruptStop {
 public:
  // kKilled: only a signal that ends the caller's process, which will never look at the answer.
  // kKilledOrEnd: also the end of the mount.
  enum class At { kAnySignal, kKilled, kKilledOrEnd };
  explicit InterruptStop(fuse_req* request, At at = At::kAnySignal);
  ~InterruptStop();
  InterruptStop(const InterruptStop&) = delete;
  InterruptStop& operator=(const InterruptStop&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  // The mount ends: requests the stop of each kKilledOrEnd, of later ones as well.
  static void EndMount();

 private:
  fuse_req* const request_;
  std::stop_source stop_;
};

}  // namespace unshard
