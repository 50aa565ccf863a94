// How long answers take: the time within which 95 of 100 came, of late.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace unshard {

// A histogram of the latest answers, in buckets each 1.19 times as long as the one before. Used by
// one thread, or under a lock.
class Latencies {
 public:
  void Note(std::chrono::steady_clock::duration latency);
  // At least that time, and less than 1.2 times it; `otherwise` until enough answers have come.
  [[nodiscard]] std::chrono::milliseconds Percentile95(std::chrono::milliseconds otherwise) const;

 private:
  static constexpr std::size_t kBuckets = 64;  // from 1 ms to more than 30 s

  std::array<std::uint32_t, kBuckets> counts_{};
  std::uint32_t total_ = 0;
};

}  // namespace unshard
