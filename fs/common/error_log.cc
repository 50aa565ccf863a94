#include "fs/common/error_log.h"

#include <ctime>

#include "codec/core/escaped_text.h"
#include "store/object/error_number.h"
#include "store/object/log.h"

namespace unshard {
namespace {

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return std::string(text, size);
}

}  // namespace

void ErrorLog::Add(std::string_view operation, std::string_view path, const Error& error) {
  std::string request(operation);
  request += " /";
  request += Printable(path);
  request += ' ';
  request += ErrnoName(ErrnoOf(error));
  request += ' ';
  request += ErrorCodeName(error.code);
  request += ": ";
  request += Printable(error.message);
  LogError(request);
  const std::lock_guard lock(mutex_);
  lines_.push_back(Now() + " " + request);
  if (lines_.size() > kKept) lines_.pop_front();
}

std::string ErrorLog::Text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const std::string& line : lines_) text += line + "\n";
  return text;
}

std::deque<std::string> ErrorLog::Latest(std::size_t count) const {
  const std::lock_guard lock(mutex_);
  const std::size_t skipped = lines_.size() > count ? lines_.size() - count : 0;
  return {lines_.begin() + static_cast<std::ptrdiff_t>(skipped), lines_.end()};
}

}  // namespace unshard
