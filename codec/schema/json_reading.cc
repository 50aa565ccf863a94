#include "codec/schema/json_reading.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "codec/core/text.h"

namespace unshard {

Status ExpectOnlyMembers(const JsonCursor& object, std::initializer_list<std::string_view> names) {
  UNSHARD_RETURN_IF_ERROR(object.ExpectObject());
  for (const auto& [key, value] : object.value().members()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    std::string known;
    for (const std::string_view name : names)
      known += (known.empty() ? "" : ", ") + std::string(name);
    return Fail(ErrorCode::kDataLoss,
                MemberPath(object.path(), key) + ": unknown member; known members: " + known);
  }
  return {};
}

Result<double> NumberOf(const JsonCursor& value) {
  if (!value.value().is_number()) return value.Expected("a number");
  const std::string& token = value.value().text();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (token == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (token == "Infinity") return kInfinity;
  if (token == "-Infinity") return -kInfinity;
  if (const auto number = ParseNumber<double>(token)) return *number;
  return value.Expected("a number within the range of a 64-bit floating-point number");
}

JsonValue DoubleNumber(double value) {
  std::string token = ShortestDecimal(value);
  if (token.find_first_of(".e") == std::string::npos) token += ".0";
  return JsonValue::Number(std::move(token));
}

JsonValue IntegerNumber(std::int64_t value) { return JsonValue::Number(std::to_string(value)); }

JsonValue IntegerArray(const std::vector<std::int64_t>& values) {
  std::vector<JsonValue> items;
  for (const std::int64_t value : values) items.push_back(IntegerNumber(value));
  return JsonValue::Array(std::move(items));
}

}  // namespace unshard
