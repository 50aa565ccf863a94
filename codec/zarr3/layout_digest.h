// What metadata say of how chunks are stored, in a few bytes that can be kept beside a chunk.
#pragma once

#include <cstdint>

#include "codec/json/json.h"

namespace unshard {

// Of values that mean the same, whatever their spelling: the order of members, digits of numbers,
// null members.
std::uint32_t LayoutDigest(const JsonValue& layout);

// Of what decides where the chunks of an array stand and what their bytes mean: type, grid, key
// encoding and codecs of a `zarr.json`; not its shape, fill value and attributes. Short-hand names
// and defaults that are spelled out mean the same.
std::uint32_t ZarrLayoutDigest(const JsonValue& document);

}  // namespace unshard
