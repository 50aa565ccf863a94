#include "codec/schema/dimension_units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "codec/core/text.h"
#include "codec/schema/json_reading.h"

namespace unshard {
namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::size_t Digits(std::string_view text, std::size_t at) {
  std::size_t count = 0;
  while (at + count < text.size() && IsDigit(text[at + count])) ++count;
  return count;
}

// The length of the decimal number that `text` begins with; 0 where it begins with none.
std::size_t NumberLength(std::string_view text) {
  std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::size_t whole = Digits(text, at);
  at += whole;
  std::size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    fraction = Digits(text, at + 1);
    if (whole > 0 || fraction > 0) at += 1 + fraction;
  }
  if (whole == 0 && fraction == 0) return 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const bool sign = at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+');
    const std::size_t exponent = Digits(text, at + (sign ? 2 : 1));
    if (exponent > 0) at += (sign ? 2 : 1) + exponent;
  }
  return at;
}

Result<DimensionUnit> ParseUnit(const JsonCursor& json) {
  if (json.value().is_string()) return ParseUnitText(json.value().text());
  if (json.value().is_number()) {
    UNSHARD_ASSIGN_OR_RETURN(const double number, NumberOf(json));
    return DimensionUnit{number, ""};
  }
  if (!json.value().is_array()) return json.Expected("a text, a number, a pair or null");
  UNSHARD_ASSIGN_OR_RETURN(const auto items, json.Items(kMaxRank));
  if (items.size() != 2) return json.Expected("a pair of a number and a unit");
  DimensionUnit unit;
  UNSHARD_ASSIGN_OR_RETURN(unit.multiplier, NumberOf(items[0]));
  if (!(unit.multiplier > 0) || !std::isfinite(unit.multiplier)) {
    return items[0].Expected("a finite number above 0");
  }
  UNSHARD_ASSIGN_OR_RETURN(unit.base, items[1].String());
  return unit;
}

}  // namespace

bool AnyUnit(const DimensionUnits& units) {
  return std::any_of(units.begin(), units.end(), [](const auto& unit) { return unit.has_value(); });
}

std::string SixDigits(double value) {
  std::array<char, 64> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::general, 6);
  return error == std::errc() ? std::string(buffer.data(), end) : std::string();
}

std::string UnitText(const DimensionUnit& unit) {
  if (unit.base.empty()) return SixDigits(unit.multiplier);
  if (unit.multiplier == 1) return unit.base;
  return SixDigits(unit.multiplier) + " " + unit.base;
}

DimensionUnit ParseUnitText(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  DimensionUnit unit;
  std::size_t length = NumberLength(text);
  if (length > 0) {
    const std::string_view digits = text.substr(text.front() == '+' ? 1 : 0, length);
    const auto [end, error] = std::from_chars(digits.data(), text.data() + length, unit.multiplier);
    if (error == std::errc() && end == text.data() + length) {
      while (length < text.size() && IsSpace(text[length])) ++length;
      text.remove_prefix(length);
    } else {
      unit.multiplier = 1;  // outside the range of a double
    }
  }
  unit.base = std::string(text);
  return unit;
}

Result<DimensionUnits> ParseDimensionUnits(const JsonCursor& json) {
  if (!json.value().is_array()) return json.Expected("an array with one item a dimension");
  UNSHARD_ASSIGN_OR_RETURN(const auto items, json.Items(kMaxRank));
  DimensionUnits units(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].value().is_null()) continue;
    UNSHARD_ASSIGN_OR_RETURN(units[i], ParseUnit(items[i]));
  }
  return units;
}

JsonValue DimensionUnitsJson(const DimensionUnits& units) {
  std::vector<JsonValue> items;
  for (const auto& unit : units) {
    items.push_back(
        unit ? JsonValue::Array({DoubleNumber(unit->multiplier), JsonValue::String(unit->base)})
             : JsonValue());
  }
  return JsonValue::Array(std::move(items));
}

Status MergeDimensionUnits(DimensionUnits& into, const DimensionUnits& other) {
  if (into.empty()) into.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) {
    if (!other[i] || !into[i] || *other[i] == *into[i]) continue;
    return Fail(ErrorCode::kInvalidArgument, "dimension_units: dimension " + std::to_string(i) +
                                                 " is " + UnitText(*into[i]) + " and " +
                                                 UnitText(*other[i]));
  }
  for (std::size_t i = 0; i < other.size(); ++i) {
    if (other[i]) into[i] = other[i];
  }
  return {};
}

}  // namespace unshard
