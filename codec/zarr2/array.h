// Zarr v2 arrays: `.zarray` and `.zattrs` to the description of an array, and back.
// codec/FORMATS.md, "Chunks of Zarr and N5 arrays". Pure functions; thread-safe.
#pragma once

#include <string_view>

#include "codec/array/array_metadata.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

// Parses a `.zarray`, and the `.zattrs` beside it; an empty `zattrs`: there is none.
// `_ARRAY_DIMENSIONS` becomes axis_names. Fails with kDataLoss, naming the path and what was
// expected, on damaged metadata, and with kNotSupported, naming the member and its value, where
// chunks cannot become voxels: structured data types, texts, objects, unknown compressors.
Result<ArrayMetadata> ParseZarr2Array(std::string_view zarray, std::string_view zattrs = {});

// The codec of {dtype, order, compressor, filters}, members of a `.zarray` for arrays of `rank`
// dimensions. Absent members: "C" for order, null for compressor and filters. Fails as
// ParseZarr2Array does.
Result<ChunkCodecPtr> MakeZarr2ChunkCodec(const JsonCursor& members, std::size_t rank);

struct Zarr2Documents {
  JsonValue zarray;
  JsonValue zattrs;
};
// The documents of `array`, of any dialect, with the members of codec_json; an absent fill value is
// null. Fails with kInvalidArgument where it has an origin, and with kNotSupported where Zarr v2
// cannot express its fill value or its chunk keys. Units are dropped: Zarr v2 has no place for
// them.
Result<Zarr2Documents> WriteZarr2Array(const ArrayMetadata& array);

}  // namespace unshard
