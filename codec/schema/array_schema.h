// The TensorStore Schema of an existing array, from its document: what
// `ts.open(spec).result().schema.to_json()` returns for it, with NaN and infinities as strings.
//
// Arrays that TensorStore cannot open (codecs and data types of other writers) are described as far
// as their document goes, in its words. Pure; thread-safe.
#pragma once

#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/precomputed/info.h"

namespace unshard {

// Each of these fails with kDataLoss, naming the member, where the document does not say what shape
// and chunks the array has.

// From a `zarr.json` of an array.
Result<JsonValue> SchemaOfZarr3Array(const JsonValue& document);
// From a `.zarray`.
Result<JsonValue> SchemaOfZarr2Array(const JsonValue& document);
// From the `attributes.json` of a dataset, also of one with sharding_indexed (N5 library 4.x),
// which TensorStore does not know: its read chunks are the inner chunks, and `codec` has its
// `codecs`.
Result<JsonValue> SchemaOfN5Dataset(const JsonValue& document);
Result<JsonValue> SchemaOfScale(const VolumeScale& scale);

}  // namespace unshard
