// numcodecs' filters: codecs of items, which Zarr v2 lists in `filters` and Zarr v3 among the
// array-to-array codecs.
#pragma once

#include <optional>
#include <string>

#include "codec/compression/bytes_codec.h"
#include "codec/json/json.h"
#include "codec/voxel/data_type.h"

namespace unshard {

struct Filter {
  BytesCodecPtr codec;          // of items in the byte order that its `dtype` names
  std::uint32_t item_size = 1;  // bytes of the items that encoding gives
  bool is_lossy = false;
};

// The filter that numcodecs calls `id` ("delta"), and metadata `name`: delta of integers and
// floats; fixedscaleoffset, astype and packbits (value_filters.h); quantize and bitround, where
// this changes no type (rounding_filters.h). Nothing for any other id. `items`: the type of the
// items to encode, where these are little-endian and it is known. Fails with kDataLoss, naming the
// member below `path`, that of the configuration in the document, where it makes decoding
// impossible, and with kNotSupported for types that are not known here. Pure function; thread-safe.
Result<std::optional<Filter>> MakeFilter(const std::string& id, const std::string& name,
                                         const JsonValue* configuration, const std::string& path,
                                         const std::optional<DataType>& items = std::nullopt);

}  // namespace unshard
