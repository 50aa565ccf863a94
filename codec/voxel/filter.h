// numcodecs' filters: codecs of items, which Zarr v2 lists in `filters` and Zarr v3 among the
// array-to-array codecs.
#pragma once

#include <optional>
#include <string>

#include "codec/compression/bytes_codec.h"
#include "codec/json/json.h"
#include "codec/types/data_type.h"

namespace unshard {

struct Filter {
  BytesCodecPtr codec;              // of items in the byte order that its `dtype` names
  std::optional<NumpyType> plain;   // the items that it takes; nothing: any
  std::optional<NumpyType> stored;  // the items that it gives; nothing: those that it takes
  bool is_lossy = false;
  bool may_refuse_stored = false;  // whether some stored items have no value of `plain`
  bool packs_bits = false;         // gives PackedBitsSize(items), not an item for each
};

// The bytes that packbits gives for so many items.
std::uint64_t PackedBitsSize(std::uint64_t items);

// The filter that numcodecs calls `id` ("delta"), and metadata `name`: delta of integers and
// floats; fixedscaleoffset, astype and packbits (value_filters.h); quantize and bitround, where
// this changes no type (rounding_filters.h). Nothing for any other id. `items`: the type of the
// items to encode, where it is known; the filter may take their bytes for items of another type.
// Fails with kDataLoss, naming the member below `path`, that of the configuration in the document,
// where it makes decoding impossible, and with kNotSupported for types that are not known here.
// Pure function; thread-safe.
Result<std::optional<Filter>> MakeFilter(const std::string& id, const std::string& name,
                                         const JsonValue* configuration, const std::string& path,
                                         const std::optional<NumpyType>& items = std::nullopt);

}  // namespace unshard
