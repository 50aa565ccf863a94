// From a schema to the .zarray of a new array: the same, as JSON, that TensorStore 0.1.86
// writes for it. Pure; thread-safe.
#pragma once

#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/schema/schema.h"

namespace unshard {

// Labels of dimensions are lost, as with TensorStore: a .zarray has no place for them. Properties
// without a constraint have TensorStore's defaults. Fails with kInvalidArgument, naming the
// constraint, where the format cannot satisfy it, or the schema lacks the data type or a bound.
Result<JsonValue> NewZarr2Array(const Schema& schema);

}  // namespace unshard
