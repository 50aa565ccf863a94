// How long a caller waits, and what interrupts its wait.
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
  std::stop_token stop;  // once requested, the wait fails with EINTR

  // For threads that serve no caller: waits as long as it takes.
  static Deadline None() { return {}; }

  // Fails with the errno EINTR once a stop has been requested, else with ETIMEDOUT once `at` has
  // passed. The message contains `doing`.
  [[nodiscard]] Status Check(const char* doing) const;
};

// Waits until `ready` returns true; calls it with `lock` held, after each notification of
// `changed`. Fails as Check does where the deadline passes before.
template <class Ready>
Status WaitUntil(std::condition_variable_any& changed, std::unique_lock<std::mutex>& lock,
                 const Deadline& deadline, const char* doing, const Ready& ready) {
  if (changed.wait_until(lock, deadline.stop, deadline.at, ready)) return {};
  return deadline.Check(doing);
}

// Waits for `delay`, or fails as Check does where the deadline passes, or a stop is requested,
// before its end.
Status Pause(std::chrono::milliseconds delay, const Deadline& deadline, const char* doing);

// The time limit of the request that this thread serves; None() on threads that serve none. For
// reads: signals do not interrupt them, since programs do not expect EINTR from reading a file.
// While they wait for a remote store, a signal that kills the caller interrupts them.
Deadline CallerDeadline();
// The same, but a signal to the caller interrupts the wait. For waits that other processes can
// prolong without limit: for space in the spool, or for a publish.
Deadline InterruptibleDeadline();

// While it lives, this thread serves a request that has to end at `at`. Several nest.
class ServedCaller {
 public:
  // Returns the token that is stopped when a signal interrupts the request. Called by
  // InterruptibleDeadline() only, since few requests ever wait; null where no signal interrupts the
  // request.
  using Interrupt = std::function<std::stop_token()>;
  // `killed`: the same for CallerDeadline(), stopped when a signal kills the caller; null where it
  // waits for no remote store.
  explicit ServedCaller(std::chrono::steady_clock::time_point at, Interrupt interrupt = nullptr,
                        Interrupt killed = nullptr);
  ~ServedCaller();
  ServedCaller(const ServedCaller&) = delete;
  ServedCaller& operator=(const ServedCaller&) = delete;

 private:
  friend Deadline CallerDeadline();
  friend Deadline InterruptibleDeadline();
  const std::chrono::steady_clock::time_point at_;
  const Interrupt interrupt_;
  const Interrupt killed_;
  const ServedCaller* const outer_;
};

}  // namespace unshard
