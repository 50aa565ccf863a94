// Zarr v2 arrays: `.zarray` and `.zattrs` to the description of an array, and back.
// codec/FORMATS.md, "Chunks of Zarr and N5 arrays". Pure functions; thread-safe.
#pragma once

#include "codec/array/array.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

// Parses a `.zarray`, and the `.zattrs` beside it; null: there is none.
// `_ARRAY_DIMENSIONS` becomes axis_names. Fails with kDataLoss, naming the path and what was
// expected, where shape or chunks are damaged. Any other damage fails Array::voxels, and so
// do structured data types, texts, objects and unknown compressors, with kNotSupported, naming the
// member and its value.
Result<Array> ParseZarr2Array(const JsonValue& zarray, const JsonValue& zattrs);

// The codec of {dtype, order, compressor, filters}, members of a `.zarray` for arrays of `rank`
// dimensions. Absent members: "C" for order, null for compressor and filters. Fails as
// Array::voxels does.
Result<ChunkCodecPtr> MakeZarr2ChunkCodec(const JsonCursor& members, std::size_t rank);

// These members for items of `type` in a chain of their document: a transpose that reverses the
// axes, or none, `bytes`, and at most one compressor. The inverse of MakeZarr2ChunkCodec.
JsonValue Zarr2CodecMembers(const DataType& type, const ChainSpec& chain);

// These members in one form where they mean the same: without those that say what their absence
// means.
JsonValue Zarr2EncodingOf(const JsonValue& members);

struct Zarr2Documents {
  JsonValue zarray;
  JsonValue zattrs;
};
// The documents of `array`, of any dialect, with the members of codec_json; without a fill value
// that of fill_json. Fails with kInvalidArgument where it has an origin, and with kNotSupported
// where Zarr v2 cannot express its fill value or its chunk keys. Units are dropped: Zarr v2 has no
// place for them.
Result<Zarr2Documents> WriteZarr2Array(const Array& array);

}  // namespace unshard
