#include "codec/schema/dimension_units.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "codec/core/text.h"
#include "codec/schema/json_reading.h"

namespace unshard {
namespace {

Result<DimensionUnit> ParseUnit(const JsonCursor& json) {
  if (json.value().is_string()) return ParseDimensionUnit(json.value().text());
  if (json.value().is_number()) {
    UNSHARD_ASSIGN_OR_RETURN(const double number, NumberAt(json));
    return DimensionUnit{number, ""};
  }
  if (!json.value().is_array()) return json.Expected("a string, a number, a pair or null");
  UNSHARD_ASSIGN_OR_RETURN(const auto items, json.Items(kMaxRank));
  if (items.size() != 2) return json.Expected("a pair of a number and a unit");
  DimensionUnit unit;
  UNSHARD_ASSIGN_OR_RETURN(unit.multiplier, NumberAt(items[0]));
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

std::string UnitText(const DimensionUnit& unit) {
  if (unit.base.empty()) return SixDigits(unit.multiplier);
  if (unit.multiplier == 1) return unit.base;
  return SixDigits(unit.multiplier) + " " + unit.base;
}

Result<DimensionUnits> ParseDimensionUnits(const JsonCursor& json) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, DimensionsOf(json));
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
    return Fail(ErrorCode::kInvalidArgument, "dimension_units: dimension ", i,
                " has conflicting units: ", UnitText(*into[i]), " and ", UnitText(*other[i]));
  }
  for (std::size_t i = 0; i < other.size(); ++i) {
    if (other[i]) into[i] = other[i];
  }
  return {};
}

}  // namespace unshard
