#include "store/remote/write_answers.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>

#include "store/http/response.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMostRetryAfterSeconds = 60;
constexpr std::chrono::seconds kAnswerTimeout{120};
constexpr std::uint64_t kLeastBytesPerSecond = std::uint64_t{64} << 10;

}  // namespace

WriteAnswer UnansweredWrite(const Error& error) {
  using Kind = WriteAnswer::Kind;
  const bool unsent = error.system_errno == ECONNREFUSED || error.system_errno == EHOSTUNREACH;
  if (error.code == ErrorCode::kUnavailable && unsent) return {Kind::kNotSent, {}, error};
  const bool late = error.system_errno == ETIMEDOUT || error.system_errno == EINTR;
  if (error.code == ErrorCode::kUnavailable || late) return {Kind::kLost, {}, error};
  return {Kind::kRefused, {}, error};
}

std::chrono::milliseconds RetryAfterOf(const HttpResponse& response) {
  const auto field = FindHeader(response.headers, "Retry-After");
  const auto seconds = field ? ParseRetryAfter(*field, std::time(nullptr)) : std::nullopt;
  return std::chrono::seconds(std::min(seconds.value_or(0), kMostRetryAfterSeconds));
}

std::time_t ModifiedOf(const HttpResponse& response) {
  for (const char* name : {"Last-Modified", "Date"}) {
    const auto field = FindHeader(response.headers, name);
    if (const auto time = field ? ParseHttpDate(*field) : std::nullopt) return *time;
  }
  return 0;
}

Deadline UploadDeadline(std::uint64_t bytes) {
  Deadline deadline = CallerDeadline();
  const auto latest = std::chrono::steady_clock::now() + kAnswerTimeout +
                      std::chrono::seconds(bytes / kLeastBytesPerSecond);
  deadline.at = std::min(deadline.at, latest);
  return deadline;
}

}  // namespace unshard
