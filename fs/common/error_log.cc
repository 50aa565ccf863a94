#include "fs/common/error_log.h"

#include <cerrno>
#include <cstring>
#include <ctime>

#include "codec/core/escaped_text.h"
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

int ErrnoOf(const Error& error) {
  switch (error.system_errno) {
    case EINTR:      // a signal has come for the caller
    case ETIMEDOUT:  // its deadline is over
    case EPERM:
    case EEXIST:
    case EXDEV:
    case ENOTEMPTY:
    case EBUSY:
    case EFBIG:
    case EBADF:
    case ENOSPC:
    case EDQUOT:
    case ENAMETOOLONG:
    case ELOOP:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return error.system_errno;
    default:
      break;
  }
  // A directory where the store should have a file is damage, and not the caller's mistake.
  const bool wrong_kind = error.system_errno == EISDIR || error.system_errno == ENOTDIR;
  if (wrong_kind && error.code == ErrorCode::kInvalidArgument) return error.system_errno;
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return EINVAL;
    case ErrorCode::kNotFound:
      return ENOENT;
    case ErrorCode::kPermissionDenied:
      return EACCES;
    case ErrorCode::kNotSupported:
      return EOPNOTSUPP;
    case ErrorCode::kDataLoss:
      return EIO;
    case ErrorCode::kConflict:
      return ESTALE;
    case ErrorCode::kUnavailable:
      return EIO;
    case ErrorCode::kResourceExhausted:
      return EIO;  // an endless gzip, an index above the memory cap: the reason is in the line
    case ErrorCode::kReadOnly:
      return EROFS;
    case ErrorCode::kInternal:
      return EIO;
  }
  return EIO;
}

std::string ErrnoName(int number) {
  const char* name = strerrorname_np(number);
  return name != nullptr ? name : std::to_string(number);
}

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
