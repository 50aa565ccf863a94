// Reading and writing of the JSON of schemas beyond what JsonCursor has. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/json/number.h"

namespace unshard {

// Indices of TensorStore are below this in magnitude; this one means that there is no bound.
constexpr std::int64_t kInfiniteIndex = (std::int64_t{1} << 62) - 1;
constexpr std::size_t kMaxRank = 32;

// Fails, naming it, where the object has a member that is not among `names`.
Status ExpectOnlyMembers(const JsonCursor& object, std::initializer_list<std::string_view> names);

// The member `name`; nothing where it is absent. Unlike OptionalMember it returns a null as well.
// Requires: an object.
std::optional<JsonCursor> MemberOf(const JsonCursor& object, std::string_view name);

// The items of an array with one for each dimension.
Result<std::vector<JsonCursor>> DimensionsOf(const JsonCursor& json);

// A list of numbers.
JsonValue IntegerArray(const std::vector<std::int64_t>& values);

}  // namespace unshard
