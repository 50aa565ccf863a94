// Comparison of the fill values of Zarr v3 arrays.
#pragma once

#include <string_view>

#include "codec/json/json.h"

namespace unshard {

// Whether both are the same value of `data_type`, bit by bit, in any spelling: numbers, "NaN",
// "Infinity", "-Infinity", "NaT", hexadecimal bits of floats, pairs of these for complex types, 0
// and 1 for booleans. For other data types: whether both have the same meaning as JSON. Pure
// function; thread-safe.
bool SameFillValue(std::string_view data_type, const JsonValue& a, const JsonValue& b);

}  // namespace unshard
