// From a schema to a new array of one format. All failures are kInvalidArgument and name the
// constraint that cannot be satisfied. codec/FORMATS.md, "Schemas". Pure; thread-safe.
#pragma once

#include "codec/array/array.h"
#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/schema/schema.h"

namespace unshard {

// The array, with the choices of TensorStore 0.1.86 where `schema` leaves one. It has no `codec`,
// and of its fill value the JSON alone.
Result<Array> NewArray(Dialect dialect, const Schema& schema);

// The document that TensorStore gives to such an array: a zarr.json, a .zarray, an attributes.json,
// or the `info` of a volume with this scale alone. Fails as the writer of the format does.
Result<JsonValue> DocumentOfNew(const Array& array);

}  // namespace unshard
