// How many requests a server is sent at once: fewer after it has asked for less.
#pragma once

#include <chrono>
#include <cstddef>

namespace unshard {

// Additive increase, multiplicative decrease: halved when the server throttles (429, 503), and one
// more after as many answers as it allows. Used by one thread.
class ConcurrencyLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Requires: `most` is at least 1.
  explicit ConcurrencyLimit(std::size_t most) : most_(most), limit_(static_cast<double>(most)) {}

  [[nodiscard]] std::size_t limit() const { return static_cast<std::size_t>(limit_); }
  // A request that was sent at `sent` has been answered at `now`. Of the requests that were in
  // flight together only the first that is throttled counts: they all met the same limit.
  void Answered(bool throttled, Time sent, Time now);

 private:
  const std::size_t most_;
  double limit_;
  Time lowered_{};
};

}  // namespace unshard
