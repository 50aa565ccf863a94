#include "store/object/lasting_warnings.h"

#include <cstddef>

#include "store/object/log.h"

namespace unshard {
namespace {

constexpr std::size_t kMostSubjects = 1024;

}  // namespace

void LastingWarnings::Warn(const std::string& subject, const std::string& line) {
  const auto now = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (logged_.size() >= kMostSubjects && !logged_.contains(subject)) logged_.clear();
    Logged& logged = logged_[subject];
    if (logged.line == line && now - logged.at < pause_) return;
    logged = {line, now};
  }
  LogWarning(line);
}

void LastingWarnings::Over(const std::string& subject) {
  const std::lock_guard lock(mutex_);
  logged_.erase(subject);
}

}  // namespace unshard
