// Digests of a layout, small enough to be stored with each chunk. Pure functions; thread-safe.
#pragma once

#include <cstdint>

#include "codec/json/json.h"

namespace unshard {

// Equal for values that mean the same: the order of members, the spelling of numbers and null
// members make no difference.
std::uint32_t LayoutDigest(const JsonValue& layout);

// Of the members of a `zarr.json` that decide the positions and the encoding of chunks: data type,
// chunk grid, key encoding and codecs; not of shape, fill value and attributes. Short-hand names
// and spelled-out defaults make no difference.
std::uint32_t ZarrLayoutDigest(const JsonValue& document);

}  // namespace unshard
