#include "codec/array/fill_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "codec/array/base64.h"
#include "codec/core/text.h"
#include "codec/json/parser.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

// A binary floating-point type with the layout of IEEE 754.
struct FloatLayout {
  std::uint32_t size;  // bytes
  int exponent_bits;
  int fraction_bits;

  [[nodiscard]] int bits() const { return 1 + exponent_bits + fraction_bits; }
  [[nodiscard]] std::uint64_t infinity() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << fraction_bits;
  }
  [[nodiscard]] std::uint64_t nan() const {
    return infinity() | std::uint64_t{1} << (fraction_bits - 1);
  }
  [[nodiscard]] std::uint64_t sign() const { return std::uint64_t{1} << (bits() - 1); }
  [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
constexpr FloatLayout kBrainFloat{2, 8, 7};
constexpr std::array<FloatLayout, 3> kFloats = {{{2, 5, 10}, {4, 8, 23}, {8, 11, 52}}};

// Of a float, or of one part of a complex type.
const FloatLayout& LayoutOf(const DataType& type) {
  if (type.kind == Kind::kBrainFloat) return kBrainFloat;
  const auto found = std::find_if(kFloats.begin(), kFloats.end(), [&](const FloatLayout& layout) {
    return layout.size == type.ordered_size();
  });
  return found == kFloats.end() ? kFloats.back() : *found;
}

// The bits of the value that is nearest to `value`, with ties to even.
std::uint64_t RoundToBits(const FloatLayout& layout, double value) {
  const std::uint64_t sign = std::signbit(value) ? layout.sign() : 0;
  if (std::isinf(value)) return sign | layout.infinity();
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  exponent = std::max(exponent - 1, 1 - layout.bias());
  // In units of the last place. A mantissa that rounds up to the next power of two carries into the
  // exponent by itself; so do subnormal values that become normal.
  const double units =
      std::nearbyint(std::ldexp(std::fabs(value), layout.fraction_bits - exponent));
  const auto biased = static_cast<std::uint64_t>(exponent + layout.bias() - 1);
  const auto magnitude = (biased << layout.fraction_bits) + static_cast<std::uint64_t>(units);
  return sign | std::min(magnitude, layout.infinity());
}

// The inverse, exactly. Requires: neither infinite nor NaN.
double ValueOf(const FloatLayout& layout, std::uint64_t bits) {
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << layout.fraction_bits) - 1);
  const auto biased = static_cast<int>((bits & layout.infinity()) >> layout.fraction_bits);
  const std::uint64_t units =
      biased == 0 ? fraction : fraction | std::uint64_t{1} << layout.fraction_bits;
  const double value = std::ldexp(static_cast<double>(units),
                                  std::max(biased, 1) - layout.bias() - layout.fraction_bits);
  return (bits & layout.sign()) != 0 ? -value : value;
}

std::optional<std::uint64_t> ParseHexBits(const FloatLayout& layout, std::string_view text) {
  const auto bits = ParseNumber<std::uint64_t>(text.substr(2), 16);
  const bool fits = bits && (layout.bits() == 64 || *bits >> layout.bits() == 0);
  return fits ? bits : std::nullopt;
}

// The bits of a number, a bare or quoted name, or a hexadecimal string.
std::optional<std::uint64_t> FloatBits(const FloatLayout& layout, const JsonValue& value) {
  if (!value.is_number() && !value.is_string()) return std::nullopt;
  const std::string& text = value.text();
  if (text == "NaN") return layout.nan();
  if (text == "Infinity") return layout.infinity();
  if (text == "-Infinity") return layout.infinity() | layout.sign();
  if (value.is_string()) {
    return text.starts_with("0x") ? ParseHexBits(layout, text) : std::nullopt;
  }
  double number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (at != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    number = std::strtod(text.c_str(), nullptr);  // infinity, or a zero, of either sign
  } else if (error != std::errc()) {
    return std::nullopt;
  }
  return RoundToBits(layout, number);
}

void AppendLittleEndian(ByteVector& item, std::uint64_t value, std::uint32_t size) {
  for (std::uint32_t i = 0; i < size; ++i) {
    item.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

std::uint64_t LoadLittleEndian(ByteSpan item) {
  std::uint64_t value = 0;
  for (std::size_t i = item.size(); i-- > 0;) value = value << 8 | item[i];
  return value;
}

Result<std::uint64_t> ParseBool(const JsonCursor& value) {
  if (value.value().is_boolean()) return std::uint64_t{value.value().boolean()};
  const auto number = value.Unsigned(0, 1);  // as old writers have it
  if (!number) return value.Expected("true or false");
  return *number;
}

Result<std::uint64_t> ParseInteger(const JsonCursor& value, const DataType& type) {
  const unsigned bits = 8 * type.size;
  if (type.kind == Kind::kUnsigned) return value.Unsigned(0, ~std::uint64_t{0} >> (64 - bits));
  const auto most = static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - bits));
  UNSHARD_ASSIGN_OR_RETURN(const std::int64_t number, value.Integer(-most - 1, most));
  return static_cast<std::uint64_t>(number);
}

Result<std::uint64_t> ParseFloat(const JsonCursor& value, const FloatLayout& layout) {
  const auto bits = FloatBits(layout, value.value());
  if (bits) return *bits;
  return value.Expected(R"(a number, "NaN", "Infinity", "-Infinity" or "0x" followed by at most )" +
                        std::to_string(2 * layout.size) + " hexadecimal digits");
}

Result<ByteVector> ParseComplex(const JsonCursor& value, const DataType& type) {
  const auto parts = value.Items(2);
  if (!parts || parts->size() != 2) return value.Expected("a real and an imaginary part");
  ByteVector item;
  for (const JsonCursor& part : *parts) {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t bits, ParseFloat(part, LayoutOf(type)));
    AppendLittleEndian(item, bits, type.ordered_size());
  }
  return item;
}

Result<ByteVector> ParseRaw(const JsonCursor& value, std::uint32_t size) {
  const std::string expected = "base64 or a list of " + std::to_string(size) + " bytes";
  if (value.value().is_string()) {
    auto bytes = DecodeBase64(value.value().text());
    if (!bytes || bytes->size() != size) return value.Expected(expected);
    return *std::move(bytes);
  }
  if (!value.value().is_array()) return value.Expected(expected);
  UNSHARD_ASSIGN_OR_RETURN(const auto numbers, value.UnsignedItems(0, 255));
  if (numbers.size() != size) return value.Expected(expected);
  return ByteVector(numbers.begin(), numbers.end());
}

// The shortest decimal that reads back as the same value, which every reader takes for a float.
std::string FloatText(double value, std::uint32_t size) {
  std::array<char, 40> text{};
  char* const begin = text.data();
  char* const limit = begin + text.size();
  const auto result = size == 8 ? std::to_chars(begin, limit, value)
                                : std::to_chars(begin, limit, static_cast<float>(value));
  std::string number(begin, result.ptr);
  if (number.find_first_of(".e") == number.npos) number += ".0";
  return number;
}

// Quoted hexadecimal bits for a NaN that has no name.
JsonValue WriteFloat(ByteSpan bytes, const FloatLayout& layout) {
  const std::uint64_t bits = LoadLittleEndian(bytes);
  if (bits == layout.nan()) return JsonValue::String("NaN");
  if (bits == layout.infinity()) return JsonValue::String("Infinity");
  if (bits == (layout.infinity() | layout.sign())) return JsonValue::String("-Infinity");
  if ((bits & layout.infinity()) == layout.infinity()) {
    return JsonValue::String("0x" + HexText(bits, 2 * layout.size));
  }
  return JsonValue::Number(FloatText(ValueOf(layout, bits), layout.size));
}

bool IsHex(const JsonValue& value) {
  return (value.is_string() && value.text().starts_with("0x")) ||
         std::any_of(value.items().begin(), value.items().end(), IsHex);
}

// Base64 of the float64 with the value of a float, or of one part of a complex item.
JsonValue WriteFloat64(ByteSpan bytes, const FloatLayout& layout) {
  const std::uint64_t bits = LoadLittleEndian(bytes);
  const FloatLayout& wide = kFloats.back();
  std::uint64_t value = (bits & layout.sign()) != 0 ? wide.sign() : 0;
  if ((bits & layout.infinity()) != layout.infinity()) {
    value = RoundToBits(wide, ValueOf(layout, bits));
  } else {
    const bool is_infinite = (bits & (layout.sign() - 1)) == layout.infinity();
    value |= is_infinite ? wide.infinity() : wide.nan();
  }
  ByteVector item;
  AppendLittleEndian(item, value, wide.size);
  return JsonValue::String(EncodeBase64(item));
}

bool AppendFloat64(const JsonValue& value, const FloatLayout& layout, ByteVector& item) {
  const auto bytes = value.is_string() ? DecodeBase64(value.text()) : std::nullopt;
  const FloatLayout& wide = kFloats.back();
  if (!bytes || bytes->size() != wide.size) return false;
  const std::uint64_t bits = LoadLittleEndian(*bytes);
  const bool is_nan = (bits & (wide.sign() - 1)) > wide.infinity();
  const bool is_infinite = (bits & (wide.sign() - 1)) == wide.infinity();
  const std::uint64_t sign = (bits & wide.sign()) != 0 ? layout.sign() : 0;
  const std::uint64_t narrow = is_nan        ? layout.nan()
                               : is_infinite ? sign | layout.infinity()
                                             : RoundToBits(layout, ValueOf(wide, bits));
  AppendLittleEndian(item, narrow, layout.size);
  return true;
}

std::string IntegerText(std::uint64_t value, const DataType& type) {
  if (type.kind == Kind::kUnsigned) return std::to_string(value);
  const unsigned shift = 64 - 8 * type.size;
  return std::to_string(static_cast<std::int64_t>(value << shift) >> shift);
}

}  // namespace

Result<ByteVector> ParseFillValue(const JsonCursor& value, const DataType& type) {
  std::uint64_t bits = 0;
  switch (type.kind) {
    case Kind::kComplex:
      return ParseComplex(value, type);
    case Kind::kRaw:
    case Kind::kOpaque:
      return ParseRaw(value, type.size);
    case Kind::kBool: {
      UNSHARD_ASSIGN_OR_RETURN(bits, ParseBool(value));
      break;
    }
    case Kind::kSigned:
    case Kind::kUnsigned: {
      UNSHARD_ASSIGN_OR_RETURN(bits, ParseInteger(value, type));
      break;
    }
    case Kind::kFloat:
    case Kind::kBrainFloat: {
      UNSHARD_ASSIGN_OR_RETURN(bits, ParseFloat(value, LayoutOf(type)));
      break;
    }
  }
  ByteVector item;
  AppendLittleEndian(item, bits, type.size);
  return item;
}

JsonValue WithNumbersOfStrings(const JsonValue& fill_value) {
  if (fill_value.is_array()) {
    JsonValue items = fill_value;
    for (JsonValue& item : items.mutable_items()) item = WithNumbersOfStrings(item);
    return items;
  }
  if (!fill_value.is_string()) return fill_value;
  auto number = ParseJson(fill_value.text());
  return number && number->is_number() ? *std::move(number) : fill_value;
}

JsonValue WriteZarr3FillValue(ByteSpan item, const DataType& type) {
  switch (type.kind) {
    case Kind::kBool:
      return JsonValue::Boolean(item[0] != 0);
    case Kind::kSigned:
    case Kind::kUnsigned:
      return JsonValue::Number(IntegerText(LoadLittleEndian(item), type));
    case Kind::kFloat:
    case Kind::kBrainFloat:
      return WriteFloat(item, LayoutOf(type));
    case Kind::kComplex:
      return JsonValue::Array({WriteFloat(item.first(item.size() / 2), LayoutOf(type)),
                               WriteFloat(item.subspan(item.size() / 2), LayoutOf(type))});
    case Kind::kRaw:
    case Kind::kOpaque:
      break;
  }
  std::vector<JsonValue> bytes;
  for (const std::uint8_t byte : item) bytes.push_back(JsonValue::Number(std::uint64_t{byte}));
  return JsonValue::Array(std::move(bytes));
}

Result<JsonValue> WriteZarr2FillValue(ByteSpan item, const DataType& type) {
  if (type.kind == Kind::kRaw) return JsonValue::String(EncodeBase64(item));
  JsonValue value = WriteZarr3FillValue(item, type);
  if (IsHex(value)) {
    return Fail(ErrorCode::kNotSupported,
                "fill_value: Zarr v2 cannot express a NaN with these bits; Zarr v3 can");
  }
  return value;
}

JsonValue WriteXarrayFillValue(ByteSpan item, const DataType& type) {
  switch (type.kind) {
    case Kind::kFloat:
    case Kind::kBrainFloat:
      return WriteFloat64(item, LayoutOf(type));
    case Kind::kComplex:
      return JsonValue::Array({WriteFloat64(item.first(item.size() / 2), LayoutOf(type)),
                               WriteFloat64(item.subspan(item.size() / 2), LayoutOf(type))});
    case Kind::kRaw:
      return JsonValue::String(EncodeBase64(item));
    default:
      return WriteZarr3FillValue(item, type);
  }
}

std::optional<ByteVector> ParseXarrayFillValue(const JsonValue& value, const DataType& type) {
  ByteVector item;
  switch (type.kind) {
    case Kind::kFloat:
    case Kind::kBrainFloat:
      return AppendFloat64(value, LayoutOf(type), item) ? std::optional(item) : std::nullopt;
    case Kind::kComplex:
      if (!value.is_array() || value.items().size() != 2) return std::nullopt;
      for (const JsonValue& part : value.items()) {
        if (!AppendFloat64(part, LayoutOf(type), item)) return std::nullopt;
      }
      return item;
    default:
      auto parsed = ParseFillValue(JsonCursor(value, ""), type);
      return parsed ? std::optional(*std::move(parsed)) : std::nullopt;
  }
}

}  // namespace unshard
