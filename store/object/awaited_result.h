// A result that a callback brings to a thread that waits for it.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "codec/core/error.h"
#include "store/object/catch_exceptions.h"
#include "store/object/deadline.h"

namespace unshard {

// `done`, which is called with kInternal where all its copies go without a call, as where an
// exception ends what would have called it. Calls after the first one are not made.
template <class Value>
std::function<void(Result<Value>)> AlwaysCalled(std::function<void(Result<Value>)> done) {
  struct Caller {
    std::function<void(Result<Value>)> done;
    explicit Caller(std::function<void(Result<Value>)> called) : done(std::move(called)) {}
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;
    void Call(Result<Value> result) {
      if (const auto call = std::exchange(done, nullptr)) call(std::move(result));
    }
    ~Caller() {
      // A text so short takes no memory.
      static_cast<void>(CatchExceptions([this]() -> Status {
        return Call(tl::unexpected<Error>({ErrorCode::kInternal, "no answer", 0})), Status();
      }));
    }
  };
  return [caller = std::make_shared<Caller>(std::move(done))](Result<Value> result) {
    caller->Call(std::move(result));
  };
}

// Shared by both, since the callback may run after the wait has ended. One thread waits, once.
// Thread-safe.
template <class Value>
class AwaitedResult {
 public:
  // At most once.
  void Bring(Result<Value> result) {
    {
      const std::lock_guard lock(mutex_);
      result_ = std::move(result);
    }
    // Without the lock: the thread that is woken needs it.
    changed_.notify_one();
  }

  // A callback that brings the result of its call, or that of AlwaysCalled.
  static std::function<void(Result<Value>)> Callback(std::shared_ptr<AwaitedResult> outcome) {
    return AlwaysCalled<Value>([outcome = std::move(outcome)](Result<Value> result) {
      outcome->Bring(std::move(result));
    });
  }

  // Waits without limit.
  Result<Value> Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return result_.has_value(); });
    return *std::move(result_);
  }

  // Fails as Deadline::Check does where the deadline passes before.
  Result<Value> Wait(const Deadline& deadline, const char* doing) {
    // Before the lock, which the callback takes. Its end waits for a call that is under way, which
    // needs the lock: it comes after that of the lock.
    const std::stop_callback on_stop(deadline.stop, [this] {
      { const std::lock_guard lock(mutex_); }  // else the wait could begin between
      changed_.notify_one();
    });
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return result_.has_value() || deadline.stop.stop_requested(); };
    changed_.wait_until(lock, deadline.at, ready);
    if (result_) return *std::move(result_);
    return tl::unexpected<Error>(deadline.Check(doing).error());
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Result<Value>> result_;  // guarded by mutex_
};

}  // namespace unshard
