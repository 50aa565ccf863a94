// From a schema to the zarr.json of a new array: the same, as JSON, that TensorStore 0.1.86
// writes for it. Pure; thread-safe.
#pragma once

#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/schema/schema.h"

namespace unshard {

// Where read and write chunks differ, the array has inner chunks in shards (sharding_indexed).
// Properties without a constraint have TensorStore's defaults. Fails with kInvalidArgument, naming
// the constraint, where the format cannot satisfy it, or the schema lacks the data type or a bound.
Result<JsonValue> NewZarr3Array(const Schema& schema);

}  // namespace unshard
