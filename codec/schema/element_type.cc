#include "codec/schema/element_type.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "codec/core/text.h"
#include "codec/schema/json_reading.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

// To the nearest multiple of 2^(exponent - bits) with ties to even; the exponent is at least
// `least`.
double RoundToBits(double value, int bits, int least) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent, least) - bits;
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

// The nearest value of a floating-point type. Requires: kFloat of at least 16 bits, or kBrainFloat.
double RoundToType(const DataTypeNames& type, double value) {
  if (!std::isfinite(value) || value == 0 || type.bits == 64) return value;
  if (type.bits == 32) {
    constexpr double kMax = std::numeric_limits<float>::max();
    const double rounded = RoundToBits(value, 24, -125);
    return std::abs(rounded) > kMax ? std::copysign(HUGE_VAL, value) : rounded;
  }
  const bool brain = type.type.kind == Kind::kBrainFloat;
  const double rounded = brain ? RoundToBits(value, 8, -125) : RoundToBits(value, 11, -13);
  const double limit = brain ? std::ldexp(1.0, 128) : 65536.0;
  return std::abs(rounded) >= limit ? std::copysign(HUGE_VAL, value) : rounded;
}

// A number, or a string of one, as TensorStore reads it.
Result<double> LooseNumber(const JsonCursor& json) {
  if (!json.value().is_string()) return NumberAt(json);
  std::string text = json.value().text();
  const JsonValue number = JsonValue::Number(text);
  if (text == "NaN" || text == "Infinity" || text == "-Infinity") {
    return NumberAt(JsonCursor(number, json.path()));
  }
  if (const auto value = ParseNumber<double>(text)) return *value;
  return json.Expected("a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
}

Result<JsonValue> ParseInteger(const DataTypeNames& type, const JsonCursor& json) {
  JsonCursor number = json;
  const std::string& text = json.value().text();
  const JsonValue token = JsonValue::Number(text);
  if (json.value().is_string() && !text.empty() &&
      text.find_first_not_of("0123456789", text.front() == '-' ? 1 : 0) == std::string::npos) {
    number = JsonCursor(token, json.path());
  }
  if (type.type.kind == Kind::kUnsigned) {
    const std::uint64_t max = std::numeric_limits<std::uint64_t>::max() >> (64 - type.bits);
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t value, number.Unsigned(0, max));
    return JsonValue::Number(value);
  }
  const std::int64_t max = std::numeric_limits<std::int64_t>::max() >> (64 - type.bits);
  UNSHARD_ASSIGN_OR_RETURN(const std::int64_t value, number.Integer(-max - 1, max));
  return IntegerNumber(value);
}

}  // namespace

JsonValue FloatJson(double value) {
  if (std::isnan(value)) return JsonValue::String("NaN");
  if (std::isinf(value)) return JsonValue::String(value < 0 ? "-Infinity" : "Infinity");
  return DoubleNumber(value);
}

Result<JsonValue> ParseElement(const DataTypeNames& type, const JsonCursor& json) {
  if (json.value().is_array() && type.type.kind != Kind::kComplex) {
    UNSHARD_ASSIGN_OR_RETURN(const auto items, json.Items(kMaxRank));
    if (items.size() != 1) return json.Expected("one value for all chunks");
    return ParseElement(type, items[0]);
  }
  switch (type.type.kind) {
    case Kind::kBool: {
      UNSHARD_ASSIGN_OR_RETURN(const bool value, json.Boolean());
      return JsonValue::Boolean(value);
    }
    case Kind::kSigned:
    case Kind::kUnsigned:
      return ParseInteger(type, json);
    case Kind::kFloat:
    case Kind::kBrainFloat: {
      UNSHARD_ASSIGN_OR_RETURN(const double value, LooseNumber(json));
      if (type.type.size > 1) return FloatJson(RoundToType(type, value));
      if (value == 0) return FloatJson(value);
      return json.Expected("0, the only fill value of " + std::string(type.name) +
                           " that is supported");
    }
    case Kind::kComplex:
    case Kind::kRaw:
    case Kind::kOpaque:
      break;
  }
  return Fail(ErrorCode::kDataLoss,
              json.path() + ": not supported for the data type " + std::string(type.name));
}

}  // namespace unshard
