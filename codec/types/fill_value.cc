#include "codec/types/fill_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "codec/core/float_format.h"
#include "codec/core/text.h"
#include "codec/json/meaning.h"
#include "codec/json/number.h"
#include "codec/json/parser.h"
#include "codec/types/base64.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

// Of a float, or of one part of a complex type.
const FloatFormat& FormatOf(const DataType& type) {
  return type.kind == Kind::kBrainFloat ? kBrainFloat16 : FloatFormatOfSize(type.ordered_size());
}

std::optional<std::uint64_t> ParseHexBits(const FloatFormat& format, std::string_view text) {
  const auto bits = ParseNumber<std::uint64_t>(text.substr(2), 16);
  const bool fits = bits && (format.bits() == 64 || *bits >> format.bits() == 0);
  return fits ? bits : std::nullopt;
}

// The bits of a number, a bare or quoted name, or a hexadecimal string.
std::optional<std::uint64_t> FloatBits(const FloatFormat& format, const JsonValue& value) {
  if (!value.is_number() && !value.is_string()) return std::nullopt;
  const std::string& text = value.text();
  if (text == "NaN") return format.nan();
  if (text == "Infinity") return format.infinity();
  if (text == "-Infinity") return format.infinity() | format.sign();
  if (value.is_string()) {
    return text.starts_with("0x") ? ParseHexBits(format, text) : std::nullopt;
  }
  return format.Round(*NumberOf(value));
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

Result<std::uint64_t> ParseFloat(const JsonCursor& value, const FloatFormat& format) {
  const auto bits = FloatBits(format, value.value());
  if (bits) return *bits;
  return value.Expected(R"(a number, "NaN", "Infinity", "-Infinity" or "0x" followed by at most )" +
                        std::to_string(2 * format.size) + " hexadecimal digits");
}

Result<ByteVector> ParseComplex(const JsonCursor& value, const DataType& type) {
  const auto parts = value.Items(2);
  if (!parts || parts->size() != 2) return value.Expected("a real and an imaginary part");
  ByteVector item;
  for (const JsonCursor& part : *parts) {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t bits, ParseFloat(part, FormatOf(type)));
    AppendLe(item, bits, type.ordered_size());
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
JsonValue WriteFloat(ByteSpan bytes, const FloatFormat& format) {
  const std::uint64_t bits = LoadLe(bytes.data(), bytes.size());
  if (bits == format.nan()) return JsonValue::String("NaN");
  if (bits == format.infinity()) return JsonValue::String("Infinity");
  if (bits == (format.infinity() | format.sign())) return JsonValue::String("-Infinity");
  if ((bits & format.infinity()) == format.infinity()) {
    return JsonValue::String("0x" + HexText(bits, 2 * format.size));
  }
  return JsonValue::Number(FloatText(format.ValueOf(bits), format.size));
}

bool IsHex(const JsonValue& value) {
  return (value.is_string() && value.text().starts_with("0x")) ||
         std::any_of(value.items().begin(), value.items().end(), IsHex);
}

// Base64 of the float64 with the value of a float, or of one part of a complex item.
JsonValue WriteFloat64(ByteSpan bytes, const FloatFormat& format) {
  ByteVector item;
  const double value = format.ValueOf(LoadLe(bytes.data(), bytes.size()));
  AppendLe(item, kFloat64.Round(value), kFloat64.size);
  return JsonValue::String(EncodeBase64(item));
}

bool AppendFloat64(const JsonValue& value, const FloatFormat& format, ByteVector& item) {
  const auto bytes = value.is_string() ? DecodeBase64(value.text()) : std::nullopt;
  if (!bytes || bytes->size() != kFloat64.size) return false;
  const double number = kFloat64.ValueOf(LoadLe(bytes->data(), bytes->size()));
  AppendLe(item, std::isnan(number) ? format.nan() : format.Round(number), format.size);
  return true;
}

std::string IntegerText(std::uint64_t value, const DataType& type) {
  if (type.kind == Kind::kUnsigned) return std::to_string(value);
  const unsigned shift = 64 - 8 * type.size;
  return std::to_string(static_cast<std::int64_t>(value << shift) >> shift);
}

// A number, or a string of one, as TensorStore reads it in a schema.
Result<double> ParseSchemaNumber(const JsonCursor& json) {
  if (!json.value().is_string()) return NumberAt(json);
  std::string text = json.value().text();
  const JsonValue number = JsonValue::Number(text);
  if (text == "NaN" || text == "Infinity" || text == "-Infinity") {
    return NumberAt(JsonCursor(number, json.path()));
  }
  if (const auto value = ParseNumber<double>(text)) return *value;
  return json.Expected("a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
}

Result<JsonValue> ParseSchemaInteger(const DataTypeNames& type, const JsonCursor& json) {
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

// The value that a float has of `value`.
JsonValue RoundedJson(double value, const FloatFormat& format) {
  const double rounded = format.ValueOf(format.Round(value));
  if (std::isnan(rounded)) return JsonValue::String("NaN");
  if (std::isinf(rounded)) return JsonValue::String(rounded < 0 ? "-Infinity" : "Infinity");
  return DoubleNumber(rounded);
}

}  // namespace

JsonValue WithNumberOfNoTime(const JsonValue& fill_value) {
  if (!fill_value.is_string() || fill_value.text() != "NaT") return fill_value;
  return IntegerNumber(std::numeric_limits<std::int64_t>::min());
}

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
      UNSHARD_ASSIGN_OR_RETURN(bits, ParseFloat(value, FormatOf(type)));
      break;
    }
  }
  ByteVector item;
  AppendLe(item, bits, type.size);
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
      return JsonValue::Number(IntegerText(LoadLe(item.data(), item.size()), type));
    case Kind::kFloat:
    case Kind::kBrainFloat:
      return WriteFloat(item, FormatOf(type));
    case Kind::kComplex:
      return JsonValue::Array({WriteFloat(item.first(item.size() / 2), FormatOf(type)),
                               WriteFloat(item.subspan(item.size() / 2), FormatOf(type))});
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
      return WriteFloat64(item, FormatOf(type));
    case Kind::kComplex:
      return JsonValue::Array({WriteFloat64(item.first(item.size() / 2), FormatOf(type)),
                               WriteFloat64(item.subspan(item.size() / 2), FormatOf(type))});
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
      return AppendFloat64(value, FormatOf(type), item) ? std::optional(item) : std::nullopt;
    case Kind::kComplex:
      if (!value.is_array() || value.items().size() != 2) return std::nullopt;
      for (const JsonValue& part : value.items()) {
        if (!AppendFloat64(part, FormatOf(type), item)) return std::nullopt;
      }
      return item;
    default:
      auto parsed = ParseFillValue(JsonCursor(value, ""), type);
      return parsed ? std::optional(*std::move(parsed)) : std::nullopt;
  }
}

bool SameFillValue(std::string_view data_type, const JsonValue& a, const JsonValue& b) {
  if (SameMeaning(a, b)) return true;
  if (data_type.starts_with("numpy."))
    return SameMeaning(WithNumberOfNoTime(a), WithNumberOfNoTime(b));
  const auto type = FindDataType(DataTypeDialect::kZarr, data_type);
  if (!type) return false;
  const auto x = ParseFillValue(JsonCursor(a, ""), *type);
  const auto y = ParseFillValue(JsonCursor(b, ""), *type);
  return x && y && *x == *y;
}

Result<JsonValue> ParseSchemaFillValue(const DataTypeNames& type, const JsonCursor& json) {
  if (json.value().is_array() && type.type.kind != Kind::kComplex) {
    constexpr std::size_t kMaxRank = 32;  // of a schema
    UNSHARD_ASSIGN_OR_RETURN(const auto items, json.Items(kMaxRank));
    if (items.size() != 1) return json.Expected("one value for all chunks");
    return ParseSchemaFillValue(type, items[0]);
  }
  switch (type.type.kind) {
    case Kind::kBool: {
      UNSHARD_ASSIGN_OR_RETURN(const bool value, json.Boolean());
      return JsonValue::Boolean(value);
    }
    case Kind::kSigned:
    case Kind::kUnsigned:
      return ParseSchemaInteger(type, json);
    case Kind::kFloat:
    case Kind::kBrainFloat: {
      UNSHARD_ASSIGN_OR_RETURN(const double value, ParseSchemaNumber(json));
      if (type.type.size > 1) return RoundedJson(value, FormatOf(type.type));
      if (value == 0) return DoubleNumber(value);
      return json.Expected("0, the only fill value of " + std::string(type.name) +
                           " that is supported");
    }
    case Kind::kComplex:
    case Kind::kRaw:
    case Kind::kOpaque:
      break;
  }
  return Fail(ErrorCode::kDataLoss, json.path(), ": not supported for the data type ", type.name);
}

JsonValue SchemaFillValueOf(const DataTypeNames& type, const JsonValue& value) {
  const Kind kind = type.type.kind;
  if (kind == Kind::kComplex && value.items().size() == 2) {
    const DataTypeNames& part = *FindDataTypeNames({Kind::kFloat, type.type.ordered_size()});
    return JsonValue::Array(
        {SchemaFillValueOf(part, value.items()[0]), SchemaFillValueOf(part, value.items()[1])});
  }
  if (kind == Kind::kBool && value.is_number()) return JsonValue::Boolean(value.text() != "0");
  const bool is_float = (kind == Kind::kFloat && type.type.size > 1) || kind == Kind::kBrainFloat;
  if (is_float && value.is_string() && value.text().starts_with("0x")) {
    const FloatFormat& format = FormatOf(type.type);
    const auto bits = ParseHexBits(format, value.text());
    if (bits) return RoundedJson(format.ValueOf(*bits), format);
  }
  auto parsed = ParseSchemaFillValue(type, JsonCursor(value, "fill_value"));
  return parsed ? *std::move(parsed) : value;
}

}  // namespace unshard
