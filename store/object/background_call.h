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

  // Begins `call`. Does nothing while another one is under way, or where the system allows no more
  // threads; what it throws is ignored.
  void Start(Call call);

 private:
  std::mutex mutex_;
  std::stop_source stop_;
  bool running_ = false;  // guarded by mutex_
  std::thread thread_;    // guarded by mutex_
};

}  // namespace unshard
