// Shows how far a copy is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "store/copy/copy_counters.h"

namespace unshard {

// "42 %, 3.1 GB in 21344 chunks, 210 MB/s, 2 min left". `since`: the time since the beginning.
std::string ProgressText(const CopyCounters& counters, std::chrono::duration<double> since);

// While it lives: on a terminal one line of standard error that changes, else a line now and then.
// Ends the line of the terminal.
class CopyProgress {
 public:
  explicit CopyProgress(const CopyCounters& counters);
  ~CopyProgress();
  CopyProgress(const CopyProgress&) = delete;
  CopyProgress& operator=(const CopyProgress&) = delete;

 private:
  void Run();
  void Show();

  const CopyCounters& counters_;
  const bool terminal_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;   // guarded by mutex_
  bool shown_ = false;  // a line of the terminal; of the thread, then of the destructor
  std::thread thread_;
};

}  // namespace unshard
