// The metadata documents of one array, read and written by the functions of its format. Pure;
// thread-safe.
#pragma once

#include <vector>

#include "codec/array/array_metadata.h"
#include "codec/json/json.h"

namespace unshard {

// The scales of a precomputed volume. This and ReadArray fail, naming the JSON path, with kDataLoss
// on damaged metadata and with kNotSupported where chunks cannot be decoded.
Result<std::vector<ArrayMetadata>> ReadScales(const JsonValue& info);
// The array of a zarr.json, .zarray or attributes.json; `attributes`: the .zattrs beside a .zarray,
// else null. Requires: another dialect than precomputed.
// ParseArray does not fail where only ArrayMetadata::voxels does.
Result<ArrayMetadata> ParseArray(ArrayDialect dialect, const JsonValue& document,
                                 const JsonValue& attributes);
Result<ArrayMetadata> ReadArray(ArrayDialect dialect, const JsonValue& document,
                                const JsonValue& attributes);

// The inverse of ReadArray. Fails with kNotSupported where the format cannot express the array.
struct ArrayDocuments {
  JsonValue array;
  JsonValue attributes;  // the .zattrs beside a .zarray; null: none
};
Result<ArrayDocuments> DocumentsOf(const ArrayMetadata& array);

}  // namespace unshard
