#include "store/object/background_call.h"

#include <system_error>
#include <utility>

#include "store/object/catch_exceptions.h"
#include "store/object/thread_without_signals.h"

namespace unshard {

BackgroundCall::~BackgroundCall() {
  stop_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void BackgroundCall::Start(Call call) {
  const std::lock_guard lock(mutex_);
  if (running_) {
    following_ = std::move(call);
    return;
  }
  if (thread_.joinable()) thread_.join();  // it has nothing left to do
  try {
    thread_ = StartWithoutSignals([this, call = std::move(call)] { Run(call); });
    running_ = true;
  } catch (const std::system_error&) {
    // No caller waits for it.
  }
}

void BackgroundCall::Run(Call call) {
  while (true) {
    static_cast<void>(CatchExceptions([&]() -> Status {
      call(stop_.get_token());
      return {};
    }));
    const std::lock_guard lock(mutex_);
    if (!following_ || stop_.stop_requested()) {
      running_ = false;
      return;
    }
    call = std::exchange(following_, nullptr);
  }
}

}  // namespace unshard
