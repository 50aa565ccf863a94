#include "codec/zarr3/fill_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <system_error>

#include "codec/json/meaning.h"

namespace unshard {
namespace {

// A binary floating-point type with the layout of IEEE 754.
struct FloatType {
  std::string_view name;
  int exponent_bits;
  int fraction_bits;

  [[nodiscard]] int bits() const { return 1 + exponent_bits + fraction_bits; }
  [[nodiscard]] std::uint64_t all_exponents() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << fraction_bits;
  }
  [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
constexpr std::array<FloatType, 4> kFloatTypes = {
    {{"float16", 5, 10}, {"bfloat16", 8, 7}, {"float32", 8, 23}, {"float64", 11, 52}}};

const FloatType* FindFloatType(std::string_view name) {
  const auto found = std::find_if(kFloatTypes.begin(), kFloatTypes.end(),
                                  [&](const FloatType& type) { return type.name == name; });
  return found == kFloatTypes.end() ? nullptr : &*found;
}

// The bits of the value of `type` that is nearest to `value`, with ties to even.
std::uint64_t RoundToBits(const FloatType& type, double value) {
  const std::uint64_t sign = std::uint64_t{std::signbit(value)} << (type.bits() - 1);
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  exponent = std::max(exponent - 1, 1 - type.bias());
  // In units of the last place. A mantissa that rounds up to the next power of two carries into the
  // exponent by itself; so do subnormal values that become normal.
  const double units = std::nearbyint(std::ldexp(std::fabs(value), type.fraction_bits - exponent));
  const auto biased = static_cast<std::uint64_t>(exponent + type.bias() - 1);
  const auto magnitude = (biased << type.fraction_bits) + static_cast<std::uint64_t>(units);
  return sign | std::min(magnitude, type.all_exponents());
}

std::optional<std::uint64_t> ParseHexBits(const FloatType& type, std::string_view text) {
  text.remove_prefix(2);
  std::uint64_t bits = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, bits, 16);
  const bool fits = type.bits() == 64 || bits >> type.bits() == 0;
  if (text.empty() || error != std::errc() || at != end || !fits) return std::nullopt;
  return bits;
}

// The bits of a number, a bare or quoted name, or a hexadecimal string.
std::optional<std::uint64_t> FloatBits(const FloatType& type, const JsonValue& value) {
  if (!value.is_number() && !value.is_string()) return std::nullopt;
  const std::string& text = value.text();
  const std::uint64_t infinity = type.all_exponents();
  const std::uint64_t sign = std::uint64_t{1} << (type.bits() - 1);
  if (text == "NaN") return infinity | std::uint64_t{1} << (type.fraction_bits - 1);
  if (text == "Infinity") return infinity;
  if (text == "-Infinity") return infinity | sign;
  if (value.is_string()) {
    return text.starts_with("0x") ? ParseHexBits(type, text) : std::nullopt;
  }
  double number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return RoundToBits(type, number);
}

bool SameFloat(const FloatType& type, const JsonValue& a, const JsonValue& b) {
  const auto x = FloatBits(type, a);
  return x && x == FloatBits(type, b);
}

bool SameComplex(const FloatType& part, const JsonValue& a, const JsonValue& b) {
  if (a.items().size() != 2 || b.items().size() != 2) return false;
  return SameFloat(part, a.items()[0], b.items()[0]) && SameFloat(part, a.items()[1], b.items()[1]);
}

std::optional<bool> AsBoolean(const JsonValue& value) {
  if (value.is_boolean()) return value.boolean();
  if (!value.is_number()) return std::nullopt;
  if (SameNumber(value.text(), "0")) return false;
  return SameNumber(value.text(), "1") ? std::optional(true) : std::nullopt;
}

// "NaT" is the smallest signed number of 64 bits.
JsonValue AsTimeNumber(const JsonValue& value) {
  if (!value.is_string() || value.text() != "NaT") return value;
  return JsonValue::Number(std::to_string(std::numeric_limits<std::int64_t>::min()));
}

}  // namespace

bool SameFillValue(std::string_view data_type, const JsonValue& a, const JsonValue& b) {
  if (SameMeaning(a, b)) return true;
  if (const FloatType* type = FindFloatType(data_type)) return SameFloat(*type, a, b);
  if (data_type == "complex64") return SameComplex(*FindFloatType("float32"), a, b);
  if (data_type == "complex128") return SameComplex(*FindFloatType("float64"), a, b);
  if (data_type == "bool") {
    const auto x = AsBoolean(a);
    return x && x == AsBoolean(b);
  }
  if (data_type.starts_with("numpy.")) return SameMeaning(AsTimeNumber(a), AsTimeNumber(b));
  return false;
}

}  // namespace unshard
