// Digests of what decides how chunks are stored: a committed chunk carries the digest of the layout
// for which it was written. Pure functions; thread-safe.
#pragma once

#include <cstdint>

#include "codec/json/json.h"

namespace unshard {

// Equal for values that mean the same: the order of members, the spelling of numbers and null
// members make no difference.
std::uint32_t LayoutDigest(const JsonValue& layout);

// The digest of a `zarr.json`: of the members that decide where and how chunks are stored (data
// type, chunk grid, key encoding, codecs), not of shape, fill value and attributes. Short-hand
// names and spelled-out defaults make no difference.
std::uint32_t ZarrLayoutDigest(const JsonValue& document);

}  // namespace unshard
