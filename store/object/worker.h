// A thread that works in the place of another one, which must not be kept from its own work.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace unshard {

// Makes calls on a thread of its own, one after the other, in the order in which they were added.
// The thread is started by the first one. All but the destructor is thread-safe.
class Worker {
 public:
  using Call = std::function<void()>;

  Worker();
  // Returns once all calls were made; at once, where one of them calls this.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Does not wait. What a call throws is ignored. Where the system allows no more threads the call
  // is made here.
  void Add(Call call);

 private:
  struct Calls;
  static void Run(Calls& calls);

  const std::shared_ptr<Calls> calls_;
  std::mutex mutex_;
  std::thread thread_;  // guarded by mutex_
};

}  // namespace unshard
