// The time of day, for the timestamps of files.
#pragma once

#include <ctime>

namespace unshard {

inline timespec TimeNow() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

}  // namespace unshard
