// Zarr v3 arrays: `zarr.json` to the description of an array, and back. codec/FORMATS.md, "Zarr
// v3". Pure functions; thread-safe.
#pragma once

#include <string_view>

#include "codec/array/array_metadata.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

// Parses the `zarr.json` of an array, in every form that ParseZarrMetadata accepts. Of a sharded
// array chunk_shape, codec_json and codec are those of inner chunks, and `sharding` is its whole
// codec chain. The attribute `dimension_units` becomes `units`. Fails with kDataLoss, naming the
// path and what was expected, on damaged metadata, and with kNotSupported, naming the member and
// its value, where chunks cannot become voxels: other data types, grids, codecs.
Result<ArrayMetadata> ParseZarr3Array(std::string_view text);
// The same for a parsed document, with failures below its path.
Result<ArrayMetadata> ParseZarr3Array(const JsonCursor& document);

// The document of `array`, of any dialect: `sharding` is in `codecs` where it is not null, else
// codec_json. Where shard_shape is set and `sharding` is null, the chain gets a sharding_indexed
// with an index of little-endian numbers and crc32c at the end, as TensorStore writes it. Fails
// with kInvalidArgument where `array` has an origin, which Zarr cannot express.
Result<JsonValue> WriteZarr3Array(const ArrayMetadata& array);

}  // namespace unshard
