#include "store/publish/jitter.h"

#include <algorithm>
#include <chrono>
#include <random>

namespace unshard {
namespace {

constexpr int kMostDoublings = 7;

}  // namespace

void WaitWithJitter(int attempt, std::chrono::milliseconds first, const Deadline& deadline) {
  if (first.count() <= 0) return;
  thread_local std::minstd_rand engine{std::random_device()()};
  const auto most = first * (1 << std::clamp(attempt - 1, 0, kMostDoublings));
  const std::chrono::milliseconds pause(
      std::uniform_int_distribution<std::int64_t>(0, most.count())(engine));
  static_cast<void>(Pause(pause, deadline, "waiting"));
}

}  // namespace unshard
