// Work that no caller waits for.
#pragma once

#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace unshard {

// One call at a time, on a thread of its own. Thread-safe, but for the destructor.
class BackgroundCall {
 public:
  using Call = std::function<void(const std::stop_token& stop)>;

  BackgroundCall() = default;
  // Requests the stop of a call that is under way, and waits for its end.
  ~BackgroundCall();
  BackgroundCall(const BackgroundCall&) = delete;
  BackgroundCall& operator=(const BackgroundCall&) = delete;

  // Begins `call`, or has it follow the one that is under way, in place of one that waits for that
  // already. Does nothing where the system allows no more threads; what a call throws is ignored.
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
