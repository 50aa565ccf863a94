#include "store/object/deadline.h"

#include <cerrno>
#include <utility>

namespace unshard {
namespace {

thread_local const Deadline* served = nullptr;

}  // namespace

Status Deadline::Check(const char* doing) const {
  if (stop.stop_requested()) return FailErrno(EINTR, doing);
  if (std::chrono::steady_clock::now() >= at) return FailErrno(ETIMEDOUT, doing);
  return {};
}

Deadline CallerDeadline() {
  return served == nullptr ? Deadline::None() : Deadline{served->at, {}};
}

Deadline InterruptibleDeadline() { return served == nullptr ? Deadline::None() : *served; }

ServedCaller::ServedCaller(Deadline deadline) : deadline_(std::move(deadline)), outer_(served) {
  served = &deadline_;
}

ServedCaller::~ServedCaller() { served = outer_; }

}  // namespace unshard
