// Slows writers down while the spool is beyond its cap: what they write is done, and its answer is
// held back until chunks have been published. Writers that publishing cannot help get ENOSPC.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "codec/core/error.h"
#include "store/publish/queue.h"
#include "store/spool/spool.h"

namespace unshard {

// One thread waits for room, whatever the number of answers. Thread-safe.
class Room {
 public:
  // Requests during which the kernel holds the lock of a directory wait only beyond twice the cap,
  // since all look-ups in that directory wait with them.
  enum class Cap : unsigned { kOnce = 1, kTwice = 2 };

  // `queue` outlives this object. While this object lives it decides what exceeds the cap of
  // `spool`.
  Room(std::shared_ptr<Spool> spool, PublishQueue& queue);
  ~Room();
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  // Whether an answer has to be held back. Takes no lock.
  [[nodiscard]] bool IsOver(Cap cap) const {
    return spool_->TimesOverCap() >= static_cast<unsigned>(cap);
  }
  // Calls `answer` once, from the thread of this object and without a lock: when there is room,
  // when publishing cannot make any, when `interrupted` is requested, or when the mount ends. Must
  // not be called with a lock that `answer` takes.
  void Hold(Cap cap, std::stop_token interrupted, std::function<void()> answer);
  // Returns when Hold would call its answer.
  void Wait(Cap cap, std::stop_token interrupted);
  // The mount ends: returns once all that is held is answered, and holds nothing from then on.
  void End();

 private:
  struct Held {
    Cap cap;
    std::stop_token interrupted;
    std::function<void()> answer;
  };
  // Why nothing may exceed the cap. It holds until publishing goes on.
  struct Refusal {
    Error why;
    std::uint64_t publishes;  // before it
  };

  void Run();
  Status MayExceed();
  [[nodiscard]] bool IsDue(const Held& held) const;
  [[nodiscard]] bool AnyIsDue();
  void Answer(bool all);
  void Refuse();

  const std::shared_ptr<Spool> spool_;
  PublishQueue& queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Held> held_;  // guarded by mutex_, like all below
  std::optional<Refusal> refusal_;
  bool ended_ = false;
  std::once_flag joined_;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace unshard
