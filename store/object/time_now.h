// Timestamps of files.
#pragma once

#include <ctime>
#include <tuple>

namespace unshard {

inline timespec TimeNow() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

// Where a store says no time it is zero, before all others.
inline bool IsLater(const timespec& a, const timespec& b) {
  return std::tie(a.tv_sec, a.tv_nsec) > std::tie(b.tv_sec, b.tv_nsec);
}

}  // namespace unshard
