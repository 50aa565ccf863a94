// Going to the background so that the caller learns whether it worked.
#pragma once

#include <functional>

#include "codec/error.h"

namespace unshard {

// Runs `work` in a child process of its own session and waits until it has called the function it
// is given ("ready"), which returns 0, or has ended without, which returns 1 after its messages
// have gone to standard error. The child keeps the caller's standard error until it is ready and
// has none of the caller's descriptors after. Requires: no other thread runs.
int RunInBackground(const std::function<Status(const std::function<void()>& ready)>& work);

}  // namespace unshard
