// From a schema to the info of a new volume with one scale: the same, as JSON, that TensorStore
// 0.1.86 writes for it. Pure; thread-safe.
#pragma once

#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/schema/schema.h"

namespace unshard {

// Where write chunks are larger than read chunks, the scale has shards of about that size.
// Properties without a constraint have TensorStore's defaults. Fails with kInvalidArgument, naming
// the constraint, where the format cannot satisfy it, or the schema lacks the data type or a bound.
Result<JsonValue> NewPrecomputedVolume(const Schema& schema);

}  // namespace unshard
