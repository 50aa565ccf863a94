// Pauses between attempts of several writers to replace one object.
#pragma once

#include <chrono>

#include "store/object/deadline.h"

namespace unshard {

// Waits before attempt number `attempt` (1: the second one) for a random time of up to `first`,
// which doubles with each attempt, so that one of several writers gets through. Ends early where
// the deadline does.
void WaitWithJitter(int attempt, std::chrono::milliseconds first, const Deadline& deadline);

}  // namespace unshard
