// The caller on whose behalf a thread works, as far as waiting has to know him.
#pragma once

#include <functional>

namespace unshard {

// While it lives, `interrupted` tells whether a signal has come for the caller that this thread
// serves. One at a time for a thread.
class ServedCaller {
 public:
  explicit ServedCaller(std::function<bool()> interrupted);
  ~ServedCaller();
  ServedCaller(const ServedCaller&) = delete;
  ServedCaller& operator=(const ServedCaller&) = delete;
};

// True once the caller should get EINTR in place of what he waits for. Never for threads that serve
// no caller.
bool CallerIsInterrupted();

}  // namespace unshard
