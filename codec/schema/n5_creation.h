// From a schema to the attributes.json of a new dataset: the same, as JSON, that TensorStore 0.1.86
// writes for it. Pure; thread-safe.
#pragma once

#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/schema/schema.h"

namespace unshard {

// Axes, units and resolutions are TensorStore's attributes. Properties without
// a constraint have TensorStore's defaults. Fails with kInvalidArgument, naming the constraint,
// where the format cannot satisfy it, or the schema lacks the data type or a bound.
Result<JsonValue> NewN5Dataset(const Schema& schema);

}  // namespace unshard
