// The mount that this process serves, which it must not ask anything.
#pragma once

#include <sys/types.h>

#include <atomic>

namespace unshard {

// A bind mount can bring the mount into its own source while it is served. Each request to it from
// a thread that serves it would need another such thread, until all of them wait for each other.
// Thread-safe.
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
