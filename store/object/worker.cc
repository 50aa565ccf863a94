#include "store/object/worker.h"

#include <condition_variable>
#include <deque>
#include <system_error>
#include <utility>

#include "store/object/catch_exceptions.h"
#include "store/object/thread_without_signals.h"

namespace unshard {

struct Worker::Calls {
  std::mutex mutex;
  std::condition_variable changed;
  // All guarded by mutex.
  std::deque<Call> waiting;
  bool ends = false;
};

Worker::Worker() : calls_(std::make_shared<Calls>()) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(calls_->mutex);
    calls_->ends = true;
  }
  calls_->changed.notify_one();
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void Worker::Add(Call call) {
  {
    const std::lock_guard lock(mutex_);
    try {
      if (!thread_.joinable()) thread_ = StartWithoutSignals([calls = calls_] { Run(*calls); });
    } catch (const std::system_error&) {
      return call();
    }
  }
  {
    const std::lock_guard lock(calls_->mutex);
    calls_->waiting.push_back(std::move(call));
  }
  calls_->changed.notify_one();
}

void Worker::Run(Calls& calls) {
  std::unique_lock lock(calls.mutex);
  for (;;) {
    calls.changed.wait(lock, [&] { return calls.ends || !calls.waiting.empty(); });
    if (calls.waiting.empty()) return;
    Call call = std::move(calls.waiting.front());
    calls.waiting.pop_front();
    lock.unlock();
    static_cast<void>(CatchExceptions([&]() -> Status { return call(), Status(); }));
    call = nullptr;  // its end may be that of the worker
    lock.lock();
  }
}

}  // namespace unshard
