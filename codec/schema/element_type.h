// Fill values of TensorStore's schemas. Pure; thread-safe.
#pragma once

#include "codec/core/error.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/types/data_type.h"

namespace unshard {

// The value in `json`, or in nested arrays of one item each, as the JSON that TensorStore prints
// for it: a number of the type's precision, true or false, or the strings "NaN", "Infinity" and
// "-Infinity". Fails, naming the JSON path, for values that the type does not have, and for complex
// types, which have no JSON form in a schema.
Result<JsonValue> ParseElement(const DataTypeNames& type, const JsonCursor& json);

// "NaN", "Infinity", "-Infinity" or a number.
JsonValue FloatJson(double value);

}  // namespace unshard
