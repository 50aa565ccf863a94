// N5 datasets: `attributes.json` to the description of an array, and back. codec/FORMATS.md,
// "Chunks of Zarr and N5 arrays". Pure functions; thread-safe.
#pragma once

#include <array>

#include "codec/array/array.h"
#include "codec/json/json.h"

namespace unshard {

// The members that are parsed into other members of Array than `attributes`.
inline constexpr std::array kN5DatasetMembers = {"dimensions",  "blockSize",       "dataType",
                                                 "compression", "compressionType", "axes",
                                                 "units",       "resolution"};

// Parses the `attributes.json` of a dataset. Axes are reversed: slowest first. `axes` become
// axis_names, `resolution` and `units` become units; members that Array has no place for
// are `attributes`. `compressionType`, of the first version of N5, is accepted. Fails with
// kDataLoss, naming the path and what was expected, where dimensions or blocks are damaged. Any
// other damage fails Array::voxels, and so do strings, objects, `codecs` and unknown
// compressions, with kNotSupported, naming the member and its value.
Result<Array> ParseN5Dataset(const JsonValue& document);

// The document of `array`, of any dialect, with its codec_json as `compression`. Fails with
// kNotSupported where N5 has no such data type, and with kInvalidArgument where the array has an
// origin or a block has an extent above 2^31-1.
Result<JsonValue> WriteN5Dataset(const Array& array);

}  // namespace unshard
