// Failures of requests that are made in several places.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include "codec/core/error.h"

namespace unshard {

// The name leads to another node by now: ESTALE, at which the kernel looks it up again. Not
// reported.
inline tl::unexpected<Error> StaleName() {
  return tl::unexpected<Error>(Error{ErrorCode::kConflict, "", 0});
}
[[nodiscard]] inline bool IsStaleName(const Error& error) {
  return error.code == ErrorCode::kConflict && error.message.empty();
}

// A reader opens a chunk that is being created: ENOENT, not reported.
inline tl::unexpected<Error> NotCommitted() {
  return tl::unexpected<Error>(Error{ErrorCode::kNotFound, "", ENOENT});
}

// The end of a listing that lacks names which may be there: EIO. What was left out is reported by
// itself, and this is not.
inline tl::unexpected<Error> IncompleteListing() {
  return tl::unexpected<Error>(Error{ErrorCode::kUnavailable, "", EIO});
}

// The bytes of a node can no longer be read: ESTALE, and the failure is reported.
inline Error StaleNode() {
  return Error{ErrorCode::kConflict, "this version of the file is gone; open it again by its name",
               0};
}

// The limit of common file systems; the kernel passes longer names on.
inline constexpr std::size_t kMaxNameBytes = 255;
inline Status CheckName(std::string_view name) {
  if (name.size() <= kMaxNameBytes) return {};
  return FailWith(ENAMETOOLONG, ErrorCode::kInvalidArgument, "a name has ", name.size(),
                  " bytes, expected at most ", kMaxNameBytes);
}

}  // namespace unshard
