// What is heard of a store over a network: whether it is away, for all that would wait for it.
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "codec/core/error.h"

namespace unshard {

// Whether a request has failed as where a store is away. EINTR: its caller has ended; EPROTO: the
// store has answered, wrongly; EAGAIN: something else has to be done first.
inline bool MeansAway(const Error& error) {
  return error.code == ErrorCode::kUnavailable && error.system_errno != EINTR &&
         error.system_errno != EPROTO && error.system_errno != EAGAIN;
}

// Connects the transport, which notices whether the store answers, with the queue of publishes,
// which decides whether it is away. Thread-safe.
class StoreContact {
 public:
  using Clock = std::chrono::steady_clock;
  // A failure that comes so soon after a byte of an answer was slow, or its own: the store is
  // there.
  static constexpr std::chrono::seconds kHeardLately{2};

  // None of them may wait for the store.
  struct Listener {
    std::function<bool()> is_away;
    std::function<void(const Error& error)> found_away;
    std::function<void()> answered;
  };
  // Until it is set nothing is away. From return on the one before is not called any more.
  void Listen(Listener listener) {
    const std::unique_lock lock(mutex_);
    listener_ = std::move(listener);
  }

  // Whether the store is away, as far as is known.
  [[nodiscard]] bool IsAway() const {
    const std::shared_lock lock(mutex_);
    return listener_.is_away && listener_.is_away();
  }
  // A request has failed as where the store is away.
  void FoundAway(const Error& error) const {
    if (Clock::now().time_since_epoch() - Clock::duration(heard_.load()) < kHeardLately) return;
    const std::shared_lock lock(mutex_);
    if (listener_.found_away) listener_.found_away(error);
  }
  // A part of an answer has come that says that the store serves requests.
  void Answered() {
    heard_ = Clock::now().time_since_epoch().count();
    const std::shared_lock lock(mutex_);
    if (listener_.answered) listener_.answered();
  }

  // Bytes that were sent or received.
  void CountBytes(std::uint64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  mutable std::shared_mutex mutex_;
  Listener listener_;  // guarded by mutex_
  std::atomic<Clock::rep> heard_{0};
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace unshard
