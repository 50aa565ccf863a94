// What the merges of precomputed and Zarr metadata share: comparison, failures. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "codec/core/error.h"
#include "codec/json/json.h"

namespace unshard {

// The failure of an edit that changes how chunks are stored: kPermissionDenied with EPERM, naming
// `path`. A null pointer means that the value is absent.
tl::unexpected<Error> RefuseLayoutChange(const std::string& path, const JsonValue* before,
                                         const JsonValue* after);
tl::unexpected<Error> RefuseLayoutChange(const std::string& path, std::string_view why);

// The failure of an edit that creates something sharded: likewise.
tl::unexpected<Error> RefuseNewShards(const std::string& path);

// Fails like RefuseLayoutChange unless `before` and `after` mean the same. An absent or null value
// means `fallback`.
Status ExpectSame(const std::string& path, const JsonValue* before, const JsonValue* after,
                  const JsonValue& fallback = JsonValue());

// Parses a document that a program wrote. Fails with kInvalidArgument unless it is a JSON object.
Result<JsonValue> ParseEdited(std::string_view edited);

}  // namespace unshard
