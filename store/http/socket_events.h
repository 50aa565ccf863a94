// What a thread of many connections sleeps for: sockets that are ready, a time, another thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace unshard {

// All but Wake is for one thread.
class SocketEvents {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Ready {
    int socket = -1;
    bool readable = false;
    bool writable = false;
  };
  enum class For { kReading, kWriting, kBoth };

  SocketEvents();
  ~SocketEvents();
  SocketEvents(const SocketEvents&) = delete;
  SocketEvents& operator=(const SocketEvents&) = delete;
  // False where the system allows no more descriptors.
  [[nodiscard]] bool usable() const { return poll_ >= 0 && wakes_ >= 0; }

  // From now on the socket is waited for. `known`: it is already, for something else.
  void Watch(int socket, For what, bool known) const;
  // No longer; it may be closed already.
  void Unwatch(int socket) const;

  // Returns when a socket is ready, after Wake, and at `until`: at once where that has passed. What
  // it returns is valid until the next call. A socket that failed is ready for everything.
  const std::vector<Ready>& Wait(Time until);
  // Ends Wait, the next one where none is under way. Thread-safe.
  void Wake() const;

 private:
  const int poll_;
  const int wakes_;
  std::vector<Ready> ready_;
};

}  // namespace unshard
