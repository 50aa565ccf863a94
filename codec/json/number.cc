#include "codec/json/number.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "codec/core/text.h"

namespace unshard {

std::optional<double> NumberOf(const JsonValue& value) {
  if (!value.is_number()) return std::nullopt;
  const std::string& token = value.text();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (token == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (token == "Infinity") return kInfinity;
  if (token == "-Infinity") return -kInfinity;
  const auto number = ParseNumber<double>(token);
  return number ? *number : std::strtod(token.c_str(), nullptr);  // out of range
}

std::optional<double> FiniteNumberOf(const JsonValue& value) {
  const auto number = NumberOf(value);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

Result<double> NumberAt(const JsonCursor& value) {
  const auto number = NumberOf(value.value());
  if (!number) return value.Expected("a number");
  if (std::isinf(*number) && !value.value().text().ends_with("Infinity")) {
    return value.Expected("a number within the range of a 64-bit floating-point number");
  }
  return *number;
}

Result<double> FiniteNumberAt(const JsonCursor& value) {
  if (const auto number = FiniteNumberOf(value.value())) return *number;
  return value.Expected(value.value().is_number() ? "a finite number" : "a number");
}

JsonValue NumberJson(double value) { return JsonValue::Number(ShortestDecimal(value)); }

JsonValue DoubleNumber(double value) {
  std::string token = ShortestDecimal(value);
  if (token.find_first_of(".e") == std::string::npos) token += ".0";
  return JsonValue::Number(std::move(token));
}

JsonValue IntegerNumber(std::int64_t value) { return JsonValue::Number(std::to_string(value)); }

}  // namespace unshard
