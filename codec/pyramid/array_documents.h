// The metadata documents of one array, read and written by the name of its format.
#pragma once

#include <vector>

#include "codec/array/array_metadata.h"
#include "codec/json/json.h"

namespace unshard {

// The scales of a precomputed volume. Fails, naming the JSON path, with kDataLoss on
// damaged metadata and with kNotSupported where chunks cannot be decoded.
Result<std::vector<ArrayMetadata>> ReadScales(const JsonValue& info);
// zarr.json, .zarray, attributes.json; `attributes` are those beside .zarray, else null.
Result<ArrayMetadata> ReadArray(ArrayDialect dialect, const JsonValue& document,
                                const JsonValue& attributes);

// The inverse, but for precomputed volumes. Fails with kNotSupported where the format cannot say
// what the array has.
struct ArrayDocuments {
  JsonValue array;
  JsonValue attributes;  // beside .zarray, null where it has none
};
Result<ArrayDocuments> DocumentsOf(const ArrayMetadata& array);

// The array with the codec that its documents describe. `array` has none.
Result<ArrayMetadata> WithCodec(ArrayMetadata array);

}  // namespace unshard
