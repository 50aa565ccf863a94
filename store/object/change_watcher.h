// Notifies of possible changes below a store's root, so that caches need not revalidate.
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

  // True: from return on, each change of an entry directly in the directory gives an event; where
  // the directory does not exist, each change in its nearest ancestor that does. False: there are
  // no events (no watch is available, a network file system), and the caller has to revalidate what
  // it caches. Repeating a call is cheap. A watcher that fails delivers an event of `everything`,
  // the last one; what is false from then on was true before.
  virtual bool Watch(std::string_view directory_key) = 0;
};

}  // namespace unshard
