// What makes a process a daemon: going to the background so that the caller learns whether it
// worked, and leaving the caller's files alone.
#pragma once

#include <functional>

#include "codec/core/error.h"

namespace unshard {

// Runs `work` in a child process, in a session of its own once it is ready, and waits until it has
// called the function it is given ("ready"), which returns 0, or has ended without, which returns 1
// after its messages have gone to standard error. The child keeps the caller's standard error until
// it is ready and has none of the caller's descriptors after. Requires: no other thread runs.
int RunInBackground(const std::function<Status(const std::function<void()>& ready)>& work);

// Opens /dev/null as each of the standard descriptors that the caller has closed. To be called
// first: another file that got such a number would be overwritten by who means the standard one.
void OpenStandardFiles();

// For a child process that is to hold nothing of its parent's: closes all files but this one, which
// it returns under another number, takes /dev/null as the standard ones, and leaves the working
// directory. -1 where that fails.
int KeepOnly(int descriptor);

}  // namespace unshard
