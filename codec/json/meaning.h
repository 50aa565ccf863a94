// Comparison of JSON values by meaning instead of spelling, and edits that keep the spelling of
// what they do not change. Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "codec/json/json.h"

namespace unshard {

// One spelling for all spellings of a decimal number; other tokens (NaN) are returned unchanged.
std::string CanonicalNumber(std::string_view token);

// Whether two values are equal, with members in any order and numbers by their value: "1", "1.0"
// and "1e0" are the same, and so are two fractions with the same nearest double. Bare NaN equals
// itself.
bool SameMeaning(const JsonValue& a, const JsonValue& b);

// Makes strings of the bare numbers NaN, Infinity and -Infinity, which are none of JSON. Whether
// there were any.
bool QuoteBareNumbers(JsonValue& value);

// Makes in `target` the changes that lead from `before` to `after`. Values that these do not change
// keep their position and spelling in `target`. Unless all three are objects, or arrays of one
// length, `target` becomes `after`.
void ApplyChange(JsonValue& target, const JsonValue& before, const JsonValue& after);

// The same for one member of objects; a null pointer means that the member is absent.
void ApplyMemberChange(JsonValue& target, std::string_view key, const JsonValue* before,
                       const JsonValue* after);

// The indent of the JSON in `text`, as an argument of WriteJson: 0 where it is one line, else that
// of its second line, at most 8, or 2 where that one does not begin with spaces.
int IndentOf(std::string_view text);

}  // namespace unshard
