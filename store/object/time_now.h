// The time of day, as files are stamped with it.
#pragma once

#include <ctime>

namespace unshard {

inline timespec TimeNow() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

}  // namespace unshard
