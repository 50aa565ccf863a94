// The units of dimensions: the texts of Zarr's `dimension_units` and N5's `units`, and the forms of
// a TensorStore Schema. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"
#include "codec/core/text.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

// The unit of a dimension, as TensorStore has it: {8.5, "nm"}. An empty base: a number alone.
struct DimensionUnit {
  double multiplier = 1;
  std::string base;
  friend bool operator==(const DimensionUnit&, const DimensionUnit&) = default;
};
// One for each dimension.
using DimensionUnits = std::vector<std::optional<DimensionUnit>>;

// Whether any dimension has a unit.
bool AnyUnit(const DimensionUnits& units);
// The unit in nanometres; nothing where the table of lengths lacks its name.
std::optional<double> Nanometres(const DimensionUnit& unit);

using NumberText = std::string (*)(double);
// "8.5 nm" and its inverse, as in TensorStore's attribute `dimension_units` of Zarr arrays; "nm" is
// {1, "nm"}. Every text is a unit: where it begins with a number that a double can hold, that is
// the multiplier, and the rest is the base.
std::string DimensionUnitText(const DimensionUnit& unit, NumberText number = ShortestDecimal);
DimensionUnit ParseDimensionUnit(std::string_view text);

// A list with such a text or null for each of `rank` axes. Fails with kDataLoss.
Result<DimensionUnits> ParseUnitTexts(const JsonCursor& units, std::size_t rank);
JsonValue UnitTexts(const DimensionUnits& units, NumberText number = ShortestDecimal);

// The `dimension_units` of a schema: each of `items` is a text, a number, a pair [8.5, "nm"] or
// null. Fails with kDataLoss, naming the JSON path.
Result<DimensionUnits> ParseDimensionUnits(const std::vector<JsonCursor>& items);
// An array of pairs and null.
JsonValue DimensionUnitsJson(const DimensionUnits& units);

}  // namespace unshard
