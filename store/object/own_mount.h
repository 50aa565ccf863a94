// The mount that this process serves, to which it must not send requests.
#pragma once

#include <sys/types.h>

#include <atomic>

namespace unshard {

// A bind mount can bring the mount into its own source while it is served. A thread that serves the
// mount and sends a request to it needs another such thread: once all of them do that, the mount is
// deadlocked. Thread-safe.
class OwnMount {
 public:
  // Once it is mounted: the device number of its files.
  void Set(dev_t device) { device_ = device; }
  [[nodiscard]] bool known() const { return device_ != 0; }
  // Whether an open file (O_PATH is enough) lies on it. Sends no request to the file system that
  // holds the file.
  [[nodiscard]] bool Holds(int descriptor) const;

 private:
  std::atomic<dev_t> device_{0};
};

}  // namespace unshard
