// From a schema to a new scale of a precomputed volume: NewArray and DocumentOfNew (new_array.h) of
// this format. Pure; thread-safe.
#pragma once

#include <span>

#include "codec/array/array_metadata.h"
#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/schema/schema.h"

namespace unshard {

Result<ArrayMetadata> NewScale(const Schema& schema);

// The `info` of a volume with these scales, the finest first. Fails where two of them have the same
// resolution.
Result<JsonValue> InfoOfNew(std::span<const ArrayMetadata> scales);

}  // namespace unshard
