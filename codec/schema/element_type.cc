#include "codec/schema/element_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "codec/core/text.h"
#include "codec/schema/json_reading.h"

namespace unshard {
namespace {

using Kind = ElementType::Kind;

constexpr auto kTypes = std::to_array<ElementType>({
    {"bool", Kind::kBool, 8, 1, "|b1", false, false},
    {"int2", Kind::kSigned, 2, 1, "int2", false, false},
    {"int4", Kind::kSigned, 4, 1, "int4", false, false},
    {"int8", Kind::kSigned, 8, 1, "|i1", true, true},
    {"uint8", Kind::kUnsigned, 8, 1, "|u1", true, true},
    {"int16", Kind::kSigned, 16, 2, "<i2", true, true},
    {"uint16", Kind::kUnsigned, 16, 2, "<u2", true, true},
    {"int32", Kind::kSigned, 32, 4, "<i4", true, true},
    {"uint32", Kind::kUnsigned, 32, 4, "<u4", true, true},
    {"int64", Kind::kSigned, 64, 8, "<i8", false, true},
    {"uint64", Kind::kUnsigned, 64, 8, "<u8", true, true},
    {"float4_e2m1fn", Kind::kTinyFloat, 4, 1, "float4_e2m1fn", false, false},
    {"float8_e3m4", Kind::kTinyFloat, 8, 1, "float8_e3m4", false, false},
    {"float8_e4m3fn", Kind::kTinyFloat, 8, 1, "float8_e4m3fn", false, false},
    {"float8_e4m3fnuz", Kind::kTinyFloat, 8, 1, "float8_e4m3fnuz", false, false},
    {"float8_e4m3b11fnuz", Kind::kTinyFloat, 8, 1, "float8_e4m3b11fnuz", false, false},
    {"float8_e5m2", Kind::kTinyFloat, 8, 1, "float8_e5m2", false, false},
    {"float8_e5m2fnuz", Kind::kTinyFloat, 8, 1, "float8_e5m2fnuz", false, false},
    {"bfloat16", Kind::kFloat, 16, 2, "bfloat16", false, false},
    {"float16", Kind::kFloat, 16, 2, "<f2", false, false},
    {"float32", Kind::kFloat, 32, 4, "<f4", true, true},
    {"float64", Kind::kFloat, 64, 8, "<f8", false, true},
    {"complex64", Kind::kComplex, 64, 8, "<c8", false, false},
    {"complex128", Kind::kComplex, 128, 16, "<c16", false, false},
    {"char", Kind::kOther, 8, 1, {}, false, false},
    {"byte", Kind::kOther, 8, 1, {}, false, false},
    {"string", Kind::kOther, 0, 0, {}, false, false},
    {"ustring", Kind::kOther, 0, 0, {}, false, false},
    {"json", Kind::kOther, 0, 0, {}, false, false},
});

// To the nearest multiple of 2^(exponent - bits) with ties to even; the exponent is at least
// `least`.
double RoundToBits(double value, int bits, int least) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent, least) - bits;
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

// The nearest value of a floating-point type. Requires: kFloat.
double RoundToType(const ElementType& type, double value) {
  if (!std::isfinite(value) || value == 0 || type.bits == 64) return value;
  if (type.bits == 32) {
    constexpr double kMax = std::numeric_limits<float>::max();
    const double rounded = RoundToBits(value, 24, -125);
    return std::abs(rounded) > kMax ? std::copysign(HUGE_VAL, value) : rounded;
  }
  const bool brain = type.name == "bfloat16";
  const double rounded = brain ? RoundToBits(value, 8, -125) : RoundToBits(value, 11, -13);
  const double limit = brain ? std::ldexp(1.0, 128) : 65536.0;
  return std::abs(rounded) >= limit ? std::copysign(HUGE_VAL, value) : rounded;
}

// A number, or a string of one, as TensorStore reads it.
Result<double> LooseNumber(const JsonCursor& json) {
  if (!json.value().is_string()) return NumberOf(json);
  std::string text = json.value().text();
  const JsonValue number = JsonValue::Number(text);
  if (text == "NaN" || text == "Infinity" || text == "-Infinity") {
    return NumberOf(JsonCursor(number, json.path()));
  }
  if (const auto value = ParseNumber<double>(text)) return *value;
  return json.Expected("a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
}

Result<JsonValue> ParseInteger(const ElementType& type, const JsonCursor& json) {
  JsonCursor number = json;
  const std::string& text = json.value().text();
  const JsonValue token = JsonValue::Number(text);
  if (json.value().is_string() && !text.empty() &&
      text.find_first_not_of("0123456789", text.front() == '-' ? 1 : 0) == std::string::npos) {
    number = JsonCursor(token, json.path());
  }
  if (type.kind == Kind::kUnsigned) {
    const std::uint64_t max = std::numeric_limits<std::uint64_t>::max() >> (64 - type.bits);
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t value, number.Unsigned(0, max));
    return JsonValue::Number(value);
  }
  const std::int64_t max = std::numeric_limits<std::int64_t>::max() >> (64 - type.bits);
  UNSHARD_ASSIGN_OR_RETURN(const std::int64_t value, number.Integer(-max - 1, max));
  return IntegerNumber(value);
}

}  // namespace

const ElementType* FindElementType(std::string_view name) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const ElementType& type) { return type.name == name; });
  return found == kTypes.end() ? nullptr : &*found;
}

std::vector<std::string_view> ElementTypeNames() {
  std::vector<std::string_view> names;
  for (const ElementType& type : kTypes) {
    if (type.kind != Kind::kOther) names.push_back(type.name);
  }
  return names;
}

const ElementType* FindZarr2Type(std::string_view dtype) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const ElementType& type) {
    return type.zarr2 == dtype && !dtype.empty();
  });
  return found == kTypes.end() ? nullptr : &*found;
}

JsonValue FloatJson(double value) {
  if (std::isnan(value)) return JsonValue::String("NaN");
  if (std::isinf(value)) return JsonValue::String(value < 0 ? "-Infinity" : "Infinity");
  return DoubleNumber(value);
}

Result<JsonValue> ParseElement(const ElementType& type, const JsonCursor& json) {
  if (json.value().is_array() && type.kind != Kind::kComplex) {
    UNSHARD_ASSIGN_OR_RETURN(const auto items, json.Items(kMaxRank));
    if (items.size() != 1) return json.Expected("one value for all chunks");
    return ParseElement(type, items[0]);
  }
  switch (type.kind) {
    case Kind::kBool: {
      UNSHARD_ASSIGN_OR_RETURN(const bool value, json.Boolean());
      return JsonValue::Boolean(value);
    }
    case Kind::kSigned:
    case Kind::kUnsigned:
      return ParseInteger(type, json);
    case Kind::kFloat: {
      UNSHARD_ASSIGN_OR_RETURN(const double value, LooseNumber(json));
      return FloatJson(RoundToType(type, value));
    }
    case Kind::kTinyFloat: {
      UNSHARD_ASSIGN_OR_RETURN(const double value, LooseNumber(json));
      if (value == 0) return FloatJson(value);
      return json.Expected("0, the only fill value of " + std::string(type.name) +
                           " that is supported");
    }
    case Kind::kComplex:
    case Kind::kOther:
      break;
  }
  return Fail(ErrorCode::kDataLoss,
              json.path() + ": not supported for the data type " + std::string(type.name));
}

}  // namespace unshard
