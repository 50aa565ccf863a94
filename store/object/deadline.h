// Until when a caller waits, and what ends its wait before.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>

#include "codec/core/error.h"

namespace unshard {

// Passed to everything that can wait. Cheap to copy.
struct Deadline {
  std::chrono::steady_clock::time_point at = std::chrono::steady_clock::time_point::max();
  std::stop_token stop;  // requested: the caller gets EINTR in place of what it waits for

  // For threads that serve no caller: waits as long as it takes.
  static Deadline None() { return {}; }

  // Fails once the deadline is over: with the errno EINTR after a stop, else with ETIMEDOUT.
  // `doing` stands in the message.
  [[nodiscard]] Status Check(const char* doing) const;
};

// Waits until `ready` is true, which is asked with `lock` held, after each notification of
// `changed`. Fails as Check does where the deadline is over before.
template <class Ready>
Status WaitUntil(std::condition_variable_any& changed, std::unique_lock<std::mutex>& lock,
                 const Deadline& deadline, const char* doing, const Ready& ready) {
  if (changed.wait_until(lock, deadline.stop, deadline.at, ready)) return {};
  return deadline.Check(doing);
}

// The time limit of the request that this thread serves; None() on threads that serve none. For
// reads: programs that handle signals do not expect EINTR where only bytes are waited for.
Deadline CallerDeadline();
// The same, but a signal for the caller ends the wait. For waits that may last as long as other
// processes like: for room in the spool, or for a publish.
Deadline InterruptibleDeadline();

// While it lives, this thread serves a request that has to end at `at`. Several nest.
class ServedCaller {
 public:
  // Gives the token that is stopped when a signal ends the request's waits. Called by
  // InterruptibleDeadline() only, since few requests ever wait; null where no signal ends them.
  using Interrupt = std::function<std::stop_token()>;
  explicit ServedCaller(std::chrono::steady_clock::time_point at, Interrupt interrupt = nullptr);
  ~ServedCaller();
  ServedCaller(const ServedCaller&) = delete;
  ServedCaller& operator=(const ServedCaller&) = delete;

 private:
  friend Deadline CallerDeadline();
  friend Deadline InterruptibleDeadline();
  const std::chrono::steady_clock::time_point at_;
  const Interrupt interrupt_;
  const ServedCaller* const outer_;
};

}  // namespace unshard
