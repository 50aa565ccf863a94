// When what is copied was changed: a copy that is older is no copy of it.
#pragma once

#include <ctime>
#include <tuple>

namespace unshard {

// Where a store says no time it is zero, which is later than nothing.
inline bool IsLater(const timespec& a, const timespec& b) {
  return std::tie(a.tv_sec, a.tv_nsec) > std::tie(b.tv_sec, b.tv_nsec);
}

}  // namespace unshard
