// Warnings of states that last, and are found again and again.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

namespace unshard {

// Thread-safe. Remembers a bounded number of subjects.
class LastingWarnings {
 public:
  explicit LastingWarnings(std::chrono::steady_clock::duration pause = std::chrono::minutes(10))
      : pause_(pause) {}

  // Logs `line`, which is about `subject`, unless the same line about it was logged within the
  // pause.
  void Warn(const std::string& subject, const std::string& line);
  // The state of `subject` is over: its next warning is logged.
  void Over(const std::string& subject);

 private:
  struct Logged {
    std::string line;
    std::chrono::steady_clock::time_point at;
  };

  const std::chrono::steady_clock::duration pause_;
  std::mutex mutex_;
  std::map<std::string, Logged> logged_;  // by subject; guarded by mutex_
};

}  // namespace unshard
