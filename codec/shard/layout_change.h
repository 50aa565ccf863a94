// What the merges of metadata documents have in common.
#pragma once

#include <string>
#include <string_view>

#include "codec/core/error.h"
#include "codec/json/json.h"

namespace unshard {

// The path of a member of what stands at `path`; of an item of a list.
std::string MemberPath(const std::string& path, std::string_view member);
std::string ItemPath(const std::string& path, std::size_t index);

// The refusal of an edit that changes how chunks are stored: kPermissionDenied with EPERM, naming
// the place. A null pointer stands for an absent value.
tl::unexpected<Error> RefuseLayoutChange(const std::string& path, const JsonValue* before,
                                         const JsonValue* after);
tl::unexpected<Error> RefuseLayoutChange(const std::string& path, std::string_view why);

// The refusal of sharded chunks that are to be created through a mount: likewise.
tl::unexpected<Error> RefuseNewShards(const std::string& path);

// Fails unless `before` and `after` mean the same; `fallback` is what an absent value stands for.
// A null value is an absent one.
Status ExpectSame(const std::string& path, const JsonValue* before, const JsonValue* after,
                  const JsonValue& fallback = JsonValue());

// A document that somebody wrote. Fails with kInvalidArgument unless it is a JSON object.
Result<JsonValue> ParseEdited(std::string_view edited);

}  // namespace unshard
