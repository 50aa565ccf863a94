// Tells when something below a store's root may have changed, so that caches can live long.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace unshard {

// Thread-safe. Events are delivered on the watcher's own thread, one at a time, never with a lock
// of the watcher held.
class ChangeWatcher {
 public:
  // `key` of the object or directory entry that appeared, changed or vanished. An empty key with
  // `everything` set means that events were lost: anything may have changed.
  struct Event {
    std::string key;
    bool everything = false;
  };
  using Listener = std::function<void(const Event&)>;

  virtual ~ChangeWatcher() = default;

  // From return on, changes of entries directly in the directory `key` are told; where it does not
  // exist, changes of the nearest ancestor that does. False where nobody will tell (no watch to be
  // had, a network file system): the caller must look again by itself. Repeating a call is cheap.
  virtual bool Watch(std::string_view directory_key) = 0;
};

}  // namespace unshard
