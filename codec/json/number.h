// Numbers of JSON as doubles, and back. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/core/error.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

// The double nearest to a number, which may be the token NaN, Infinity or -Infinity; an infinity or
// a zero of its sign where a number is out of range. Nothing for a value that is not a number.
std::optional<double> NumberOf(const JsonValue& value);
// The same; nothing where it is not finite.
std::optional<double> FiniteNumberOf(const JsonValue& value);

// The same values; fail with kDataLoss where the functions above return nothing. NumberAt fails for
// a number that is too large as well.
Result<double> NumberAt(const JsonCursor& value);
Result<double> FiniteNumberAt(const JsonCursor& value);

// The shortest token whose nearest double is `value`: "8", "8.5". Requires: a finite value.
JsonValue NumberJson(double value);
// The same, with ".0" where it would look whole.
JsonValue DoubleNumber(double value);
JsonValue IntegerNumber(std::int64_t value);
// A list of whole numbers.
template <class Numbers>
JsonValue ExtentsJson(const Numbers& numbers) {
  std::vector<JsonValue> items;
  for (const auto number : numbers) items.push_back(JsonValue::Number(std::to_string(number)));
  return JsonValue::Array(std::move(items));
}

}  // namespace unshard
