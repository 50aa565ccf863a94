// The failed requests of a mount: one line each in the log and in .unshard/errors.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "codec/core/error.h"

namespace unshard {

// Keeps the latest lines. Thread-safe.
class ErrorLog {
 public:
  static constexpr std::size_t kKept = 1000;

  // "2026-11-21T12:00:00Z read /8_8_8/0-64_0-64_0-64 EIO data loss: 0.shard: …"
  void Add(std::string_view operation, std::string_view path, const Error& error);
  // All kept lines, oldest first.
  [[nodiscard]] std::string Text() const;
  [[nodiscard]] std::deque<std::string> Latest(std::size_t count) const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> lines_;  // guarded by mutex_
};

}  // namespace unshard
