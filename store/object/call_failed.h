// The failure of a function that has no Result to return it in.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "codec/core/error.h"

namespace unshard {

// Thrown where the contract of a function says so: what has to be known for its answer can't be had
// now, and any answer might be wrong. CatchExceptions() makes it that Error.
class CallFailed final : public std::exception {
 public:
  explicit CallFailed(Error error) : error_(std::move(error)) {}
  [[nodiscard]] const Error& error() const { return error_; }
  [[nodiscard]] const char* what() const noexcept override { return error_.message.c_str(); }

 private:
  Error error_;
};

}  // namespace unshard
