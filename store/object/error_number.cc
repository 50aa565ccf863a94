#include "store/object/error_number.h"

#include <cerrno>
#include <cstring>

namespace unshard {

int ErrnoOf(const Error& error) {
  switch (error.system_errno) {
    case EINTR:      // a signal has interrupted the caller
    case ETIMEDOUT:  // its deadline has passed
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
      return EIO;  // an endless gzip, an index above the memory cap: see the message
    case ErrorCode::kReadOnly:
      return EROFS;
    case ErrorCode::kInternal:
      return EIO;
  }
  return EIO;
}

bool FoundNoDescriptor(const Error& error) {
  return error.system_errno == EMFILE || error.system_errno == ENFILE;
}

std::string ErrnoName(int number) {
  const char* name = strerrorname_np(number);
  return name != nullptr ? name : std::to_string(number);
}

}  // namespace unshard
