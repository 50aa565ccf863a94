// Makes a process a daemon: it goes to the background in such a way that the caller learns whether
// it has started, and keeps none of the caller's files.
#pragma once

#include <functional>

#include "codec/core/error.h"

namespace unshard {

// Runs `work` in a child process, which gets a session of its own once it is ready. Returns 0 when
// the child has called the function it is given ("ready"), and 1 when it has ended without, after
// its messages have gone to standard error. The child keeps the caller's standard error until it is
// ready, and none of the caller's descriptors after. Requires: no other thread runs.
int RunInBackground(const std::function<Status(const std::function<void()>& ready)>& work);

// Opens /dev/null as each standard descriptor that the caller has closed. Call it first: another
// file that got such a number would receive what is written to the standard one.
void OpenStandardFiles();

// For a child process that must hold no file of its parent: closes all files but this one, which it
// returns under another number, opens /dev/null as the standard ones, and leaves the working
// directory. -1 where that fails.
int KeepOnly(int descriptor);

}  // namespace unshard
