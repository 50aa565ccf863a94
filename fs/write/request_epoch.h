// Lets the invalidating thread wait until answers that were computed before a change have reached
// the kernel: it would keep an answer that arrives after its invalidation for a day.
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
    Ticket(RequestEpoch& epoch, unsigned parity) : epoch_(&epoch), parity_(parity) {
      current_ = this;
    }
    Ticket(Ticket&& other) noexcept : epoch_(other.epoch_), parity_(other.parity_) {
      other.epoch_ = nullptr;
      if (current_ == &other) current_ = this;
    }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (current_ == this) current_ = nullptr;
      if (epoch_ != nullptr) epoch_->Leave(parity_);
    }

   private:
    friend class RequestEpoch;
    RequestEpoch* epoch_;
    unsigned parity_;
    static inline thread_local Ticket* current_ = nullptr;  // a thread has at most one
  };

  Ticket Enter() { return Ticket(*this, Begin()); }

  // Runs `wait` as if the calling thread's request ended before it and a new one began after it.
  // The answer must not depend on what the request has read before.
  template <class Wait>
  static auto Outside(const Wait& wait) {
    struct Reenter {
      Ticket* ticket;
      ~Reenter() {
        if (ticket != nullptr) ticket->parity_ = ticket->epoch_->Begin();
      }
    } const reenter{Ticket::current_};
    if (reenter.ticket != nullptr) reenter.ticket->epoch_->Leave(reenter.ticket->parity_);
    return wait();
  }

  // Returns when every request that was running at the call has ended. One caller at a time.
  void WaitForRunning() {
    std::unique_lock lock(mutex_);
    const unsigned before = parity_;
    parity_ = 1 - parity_;
    ended_.wait(lock, [&] { return running_[before] == 0; });
  }

 private:
  unsigned Begin() {
    const std::lock_guard lock(mutex_);
    ++running_[parity_];
    return parity_;
  }
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
