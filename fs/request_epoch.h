// Lets the invalidating thread wait until answers that were computed before a change have reached
// the kernel; an answer that came after its invalidation would be believed for a day.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace unshard {

// Thread-safe.
class RequestEpoch {
 public:
  // Held while a request runs.
  class Ticket {
   public:
    Ticket(RequestEpoch& epoch, unsigned parity) : epoch_(&epoch), parity_(parity) {}
    Ticket(Ticket&& other) noexcept : epoch_(other.epoch_), parity_(other.parity_) {
      other.epoch_ = nullptr;
    }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (epoch_ != nullptr) epoch_->Leave(parity_);
    }

   private:
    RequestEpoch* epoch_;
    unsigned parity_;
  };

  Ticket Enter() {
    const std::lock_guard lock(mutex_);
    ++running_[parity_];
    return Ticket(*this, parity_);
  }

  // Returns when every request that was running at the call has ended. One caller at a time.
  void WaitForRunning() {
    std::unique_lock lock(mutex_);
    const unsigned before = parity_;
    parity_ = 1 - parity_;
    ended_.wait(lock, [&] { return running_[before] == 0; });
  }

 private:
  void Leave(unsigned parity) {
    const std::lock_guard lock(mutex_);
    if (--running_[parity] == 0) ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  unsigned parity_ = 0;                // guarded by mutex_
  std::uint64_t running_[2] = {0, 0};  // guarded by mutex_
};

}  // namespace unshard
