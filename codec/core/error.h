// Errors and results: every fallible function of the project returns Result<T>.
//
// "Missing" (no such chunk, no such object) and "condition failed" (the object changed) are
// ordinary results and never an Error. Corrupt input is an Error with kDataLoss, never an
// assertion.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace unshard {

enum class ErrorCode {
  kInvalidArgument,    // the caller asked for something impossible; do not repeat
  kNotFound,           // something that is required is missing; do not repeat
  kPermissionDenied,   // the store denies access; do not repeat
  kNotSupported,       // legal, but not supported; the message names it; do not repeat
  kDataLoss,           // stored bytes are damaged; the message names file and field; do not repeat
  kConflict,           // the object changed repeatedly meanwhile; repeat the whole operation
  kUnavailable,        // the store does not answer; repeat the call
  kResourceExhausted,  // a limit of unshard or of the system is reached
  kReadOnly,           // a write where only reads are possible
  kInternal,           // a fault of unshard, or an unexpected system error
};

// The name of a code in logs, for example "data loss".
std::string_view ErrorCodeName(ErrorCode code);

// What went wrong, on what. Cheap to move; safe to share between threads once made.
struct Error {
  ErrorCode code;
  std::string message;   // names the file and the field, and what was expected
  int system_errno = 0;  // the errno of the system call that failed; 0: none did

  // "context: message", or the same if `context` is "". Each layer adds one, and never a secret.
  [[nodiscard]] Error Annotate(std::string_view context) &&;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// A part of a message: a text, which it refers to, or a whole number in decimal digits.
class MessagePart {
 public:
  template <class Text>
  requires std::convertible_to<const Text&, std::string_view>
  // NOLINTNEXTLINE(google-explicit-constructor): parts of messages are texts and numbers.
  MessagePart(const Text& text) : text_(text) {}
  template <std::integral Number>
  requires(!std::same_as<Number, char> && !std::same_as<Number, bool>)
      // NOLINTNEXTLINE(google-explicit-constructor): the same.
      MessagePart(Number number)
      : number_(static_cast<std::uint64_t>(number)), is_negative_(number < 0), is_number_(true) {}

  void AppendTo(std::string& message) const;

 private:
  std::string_view text_;
  std::uint64_t number_ = 0;  // of a negative number: 2^64 more
  bool is_negative_ = false;
  bool is_number_ = false;
};
// The parts, one after the other.
std::string Message(std::initializer_list<MessagePart> parts);

// The failure `code` with `message`, for a function with any Result.
tl::unexpected<Error> Fail(ErrorCode code, std::string message);
// The same, with the errno that programs expect in this case.
tl::unexpected<Error> FailWith(int system_errno, ErrorCode code, std::string message);
// The same with a message of these parts: Fail(ErrorCode::kDataLoss, path, ": expected ", 5).
template <class... Parts>
tl::unexpected<Error> Fail(ErrorCode code, const Parts&... parts) {
  return Fail(code, Message({parts...}));
}
template <class... Parts>
tl::unexpected<Error> FailWith(int system_errno, ErrorCode code, const Parts&... parts) {
  return FailWith(system_errno, code, Message({parts...}));
}

// The failure of a system call: "doing: strerror", with a code that fits `system_errno`.
tl::unexpected<Error> FailErrno(int system_errno, std::string_view doing);

// The same failure, with `context` in front of its message.
tl::unexpected<Error> Forward(Error error, std::string_view context);

}  // namespace unshard

// Returns the error of `expression` from the enclosing function; its value is dropped.
#define UNSHARD_RETURN_IF_ERROR(expression)                                       \
  if (auto unshard_status = (expression); !unshard_status) {                      \
    return ::tl::unexpected<::unshard::Error>(std::move(unshard_status).error()); \
  }

#define UNSHARD_CONCAT_INNER(a, b) a##b
#define UNSHARD_CONCAT(a, b) UNSHARD_CONCAT_INNER(a, b)

// Declares `declaration` from the value of `expression`, or returns its error.
#define UNSHARD_ASSIGN_OR_RETURN(declaration, expression) \
  UNSHARD_ASSIGN_OR_RETURN_INNER(UNSHARD_CONCAT(unshard_result_, __LINE__), declaration, expression)
#define UNSHARD_ASSIGN_OR_RETURN_INNER(result, declaration, expression)   \
  auto result = (expression);                                             \
  if (!result) {                                                          \
    return ::tl::unexpected<::unshard::Error>(std::move(result).error()); \
  }                                                                       \
  declaration = *std::move(result)
