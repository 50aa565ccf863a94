// Fill values of Zarr v3 arrays: when two spellings stand for the same value of a data type.
#pragma once

#include <string_view>

#include "codec/json/json.h"

namespace unshard {

// True where both spell the same value of `data_type`, bit by bit: numbers, "NaN", "Infinity",
// "-Infinity", "NaT", hexadecimal bits of floats, pairs of those for complex types, 0 and 1 for
// booleans. Of other data types: where both mean the same JSON. Pure function; thread-safe.
bool SameFillValue(std::string_view data_type, const JsonValue& a, const JsonValue& b);

}  // namespace unshard
