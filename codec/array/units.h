// The `dimension_units` of a TensorStore Schema. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/array/array_metadata.h"
#include "codec/core/error.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

// One for each dimension; empty: no dimension has a unit.
using DimensionUnits = std::vector<std::optional<DimensionUnit>>;

// Whether any dimension has a unit.
bool AnyUnit(const DimensionUnits& units);

// "8.5 nm", "nm" and "3", as TensorStore writes them: with six digits at most.
std::string UnitText(const DimensionUnit& unit);

// Parses an array of texts, numbers, pairs [8.5, "nm"] and null. Fails, naming the JSON path.
Result<DimensionUnits> ParseDimensionUnits(const JsonCursor& json);
// An array of pairs and null.
JsonValue DimensionUnitsJson(const DimensionUnits& units);

// Adds the units of `other`. Fails where a dimension has two. Requires: the same rank, or none.
Status MergeDimensionUnits(DimensionUnits& into, const DimensionUnits& other);

}  // namespace unshard
