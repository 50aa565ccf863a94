// What JSON values mean, whatever their spelling, and edits that leave alone what they do not
// touch.
#pragma once

#include <string>
#include <string_view>

#include "codec/json/json.h"

namespace unshard {

// The same number: "1", "1.0" and "1e0" are; so are two fractions that are one double. Bare NaN
// equals itself.
bool SameNumber(std::string_view a, std::string_view b);

// One spelling for all spellings of a number that mean the same to everybody; whatever is no
// decimal number stays as it is.
std::string CanonicalNumber(std::string_view token);

// Equal as JSON goes: members in any order, numbers by value.
bool SameMeaning(const JsonValue& a, const JsonValue& b);

// Applies to `target` what changed from `before` to `after`; values that mean the same keep the
// place and spelling that they have in `target`. Where `target` lacks what `before` has, `after` is
// taken as it is.
void ApplyChange(JsonValue& target, const JsonValue& before, const JsonValue& after);

// The same for one member of objects; a null pointer stands for an absent value.
void ApplyMemberChange(JsonValue& target, std::string_view key, const JsonValue* before,
                       const JsonValue* after);

// The indent that `text` was written with, as WriteJson takes it.
int IndentOf(std::string_view text);

}  // namespace unshard
