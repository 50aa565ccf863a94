// FUSE_INTERRUPT ends what a request waits for.
#pragma once

#include <stop_token>

struct fuse_req;  // of libfuse

namespace unshard {

// While it lives, an interrupt of `request` requests the stop of token(). It may outlive the reply.
class InterruptStop {
 public:
  // kKilled: only a signal that ends the caller's process, which will never look at the answer.
  enum class At { kAnySignal, kKilled };
  explicit InterruptStop(fuse_req* request, At at = At::kAnySignal);
  ~InterruptStop();
  InterruptStop(const InterruptStop&) = delete;
  InterruptStop& operator=(const InterruptStop&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  fuse_req* const request_;
  std::stop_source stop_;
};

}  // namespace unshard
