// Failures that end requests of a mount and are made in several places.
#pragma once

#include <string>
#include <utility>

#include "codec/error.h"

namespace unshard {

// The kernel has the node of a name that leads elsewhere by now: it looks the name up again
// (ESTALE), and nobody is told.
inline tl::unexpected<Error> LookAgain() {
  return tl::unexpected<Error>(Error{ErrorCode::kConflict, "", 0});
}
[[nodiscard]] inline bool IsLookAgain(const Error& error) {
  return error.code == ErrorCode::kConflict && error.message.empty();
}

// A failure with the errno that programs expect of it.
inline tl::unexpected<Error> FailWith(int number, ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message), number});
}

}  // namespace unshard
