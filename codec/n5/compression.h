// The `compression` of N5 datasets as bytes-to-bytes codecs.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/json/cursor.h"
#include "codec/voxel/item_codec.h"

namespace unshard {

// The codecs of `compression`: none for raw, else one. `item_size`: bytes. Fails with kDataLoss,
// naming the path and what was expected, on damaged metadata, and with kNotSupported, naming the
// type, where it is not known here. Pure function; thread-safe.
Result<std::vector<BytesStep>> ParseN5Compression(const JsonCursor& compression,
                                                  std::uint32_t item_size);

}  // namespace unshard
