// Failures that end requests of a mount and are made in several places.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "codec/core/error.h"

namespace unshard {

// The kernel has the node of a name that leads elsewhere by now: it looks the name up again
// (ESTALE), and nobody is told.
inline tl::unexpected<Error> LookAgain() {
  return tl::unexpected<Error>(Error{ErrorCode::kConflict, "", 0});
}
[[nodiscard]] inline bool IsLookAgain(const Error& error) {
  return error.code == ErrorCode::kConflict && error.message.empty();
}

// A reader asks for a chunk that is being created: as if it were not there, and nobody is told.
inline tl::unexpected<Error> NotCommitted() {
  return tl::unexpected<Error>(Error{ErrorCode::kNotFound, "", ENOENT});
}

// A node whose bytes cannot be had any more: ESTALE, and the failure is reported.
inline Error StaleNode() {
  return Error{ErrorCode::kConflict, "this version is gone, and another one stands under its name",
               0};
}

// What file systems take for a name; the kernel lets longer ones through.
inline constexpr std::size_t kMaxNameBytes = 255;
inline Status CheckName(std::string_view name) {
  if (name.size() <= kMaxNameBytes) return {};
  return FailWith(ENAMETOOLONG, ErrorCode::kInvalidArgument,
                  "a name has " + std::to_string(name.size()) + " bytes, expected at most " +
                      std::to_string(kMaxNameBytes));
}

}  // namespace unshard
