#include "store/object/deadline.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace unshard {
namespace {

thread_local const ServedCaller* served = nullptr;

}  // namespace

Status Deadline::Check(const char* doing) const {
  if (stop.stop_requested()) return FailErrno(EINTR, doing);
  if (std::chrono::steady_clock::now() >= at) return FailErrno(ETIMEDOUT, doing);
  return {};
}

Status Pause(std::chrono::milliseconds delay, const Deadline& deadline, const char* doing) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  const auto end = std::min(deadline.at, std::chrono::steady_clock::now() + delay);
  never.wait_until(lock, deadline.stop, end, [] { return false; });
  return deadline.Check(doing);
}

Deadline CallerDeadline() {
  if (served == nullptr) return Deadline::None();
  return {served->at_, served->killed_ ? served->killed_() : std::stop_token()};
}

Deadline InterruptibleDeadline() {
  if (served == nullptr) return Deadline::None();
  return {served->at_, served->interrupt_ ? served->interrupt_() : std::stop_token()};
}

ServedCaller::ServedCaller(std::chrono::steady_clock::time_point at, Interrupt interrupt,
                           Interrupt killed)
    : at_(at), interrupt_(std::move(interrupt)), killed_(std::move(killed)), outer_(served) {
  served = this;
}

ServedCaller::~ServedCaller() { served = outer_; }

}  // namespace unshard
