#include "codec/core/error.h"

#include <cerrno>
#include <system_error>

namespace unshard {
namespace {

ErrorCode CodeOfErrno(int system_errno) {
  switch (system_errno) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
      return ErrorCode::kPermissionDenied;
    case EROFS:
      return ErrorCode::kReadOnly;
    case EINVAL:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return ErrorCode::kInvalidArgument;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return ErrorCode::kResourceExhausted;
    case ESTALE:
      return ErrorCode::kConflict;
    case EAGAIN:
    case ETIMEDOUT:
    case EHOSTDOWN:
    case ENOTCONN:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kPermissionDenied:
      return "permission denied";
    case ErrorCode::kNotSupported:
      return "not supported";
    case ErrorCode::kDataLoss:
      return "data loss";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kResourceExhausted:
      return "resource exhausted";
    case ErrorCode::kReadOnly:
      return "read-only";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

Error Error::Annotate(std::string_view context) && {
  if (context.empty()) return std::move(*this);
  return Error{code, std::string(context) + ": " + message, system_errno};
}

void MessagePart::AppendTo(std::string& message) const {
  if (!is_number_) {
    message += text_;
  } else if (is_negative_) {
    message += std::to_string(static_cast<std::int64_t>(number_));
  } else {
    message += std::to_string(number_);
  }
}

std::string Message(std::initializer_list<MessagePart> parts) {
  std::string message;
  for (const MessagePart& part : parts) part.AppendTo(message);
  return message;
}

tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return FailWith(0, code, std::move(message));
}

tl::unexpected<Error> FailWith(int system_errno, ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message), system_errno});
}

tl::unexpected<Error> FailErrno(int system_errno, std::string_view doing) {
  return FailWith(system_errno, CodeOfErrno(system_errno),
                  std::string(doing) + ": " + std::generic_category().message(system_errno));
}

tl::unexpected<Error> Forward(Error error, std::string_view context) {
  return tl::unexpected<Error>(std::move(error).Annotate(context));
}

}  // namespace unshard
