#include "fs/kernel/interrupts.h"

#include <mutex>
#include <unordered_map>

#include "fs/kernel/operations.h"

namespace unshard {
namespace {

// libfuse may call back after the reply, when the InterruptStop is gone already: the callback looks
// the request up. libfuse does not use its memory again before the callback returns.
struct Requests {
  std::mutex mutex;
  std::unordered_map<fuse_req_t, std::stop_source> stops;  // guarded by mutex
};

Requests& Served() {
  static Requests requests;
  return requests;
}

void OnInterrupt(fuse_req_t request, void*) {
  std::stop_source stop(std::nostopstate);
  {
    const std::lock_guard lock(Served().mutex);
    const auto found = Served().stops.find(request);
    if (found == Served().stops.end()) return;
    stop = found->second;
  }
  stop.request_stop();
}

}  // namespace

InterruptStop::InterruptStop(fuse_req* request) : request_(request) {
  {
    const std::lock_guard lock(Served().mutex);
    Served().stops.insert_or_assign(request, stop_);
  }
  fuse_req_interrupt_func(request, OnInterrupt, nullptr);
}

InterruptStop::~InterruptStop() {
  const std::lock_guard lock(Served().mutex);
  const auto found = Served().stops.find(request_);
  // After the reply another request may have the same address.
  if (found != Served().stops.end() && found->second == stop_) Served().stops.erase(found);
}

}  // namespace unshard
