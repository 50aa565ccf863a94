// Work that no caller waits for.
#pragma once

#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace unshard {

// One call at a time, on a thread of its own. Thread-safe, except for the destructor.
class BackgroundCall {
 public:
  using Call = std::function<void(const std::stop_token& stop)>;

  BackgroundCall() = default;
  // Requests the stop of a call that is under way, and waits for its end.
  ~BackgroundCall();
  BackgroundCall(const BackgroundCall&) = delete;
  BackgroundCall& operator=(const BackgroundCall&) = delete;

  // Begins `call`. If another call is under way, `call` waits for its end, and replaces a call that
  // waits already. Does nothing if the system allows no more threads; ignores what a call throws.
  void Start(Call call);

 private:
  void Run(Call call);

  std::mutex mutex_;
  std::stop_source stop_;
  // All guarded by mutex_.
  bool running_ = false;
  Call following_;  // null: none
  std::thread thread_;
};

}  // namespace unshard
