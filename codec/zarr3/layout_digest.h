// Digests of what decides how chunks are stored: a committed chunk carries the digest of the layout
// for which it was written. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "codec/json/json.h"

namespace unshard {

// A member of the document of an array, as the core specification has it.
struct ZarrMember {
  std::string_view name;
  bool decides_layout = false;  // how chunks are stored, or what absent chunks contain
  bool is_digested = false;     // of these: by ZarrLayoutDigest
};
// Null: the core specification has no such member.
const ZarrMember* FindZarrMember(std::string_view name);

// Whether a configuration of the codec or key encoding `name` that lacks `member` means the same to
// readers as one with this `value`.
bool IsZarrDefault(std::string_view name, std::string_view member, const JsonValue& value);

// Equal for values that mean the same: the order of members, the spelling of numbers and null
// members make no difference.
std::uint32_t LayoutDigest(const JsonValue& layout);

// The digest of a `zarr.json`: of the members that decide where and how chunks are stored (data
// type, chunk grid, key encoding, codecs), not of shape, fill value and attributes. Short-hand
// names and spelled-out defaults make no difference.
std::uint32_t ZarrLayoutDigest(const JsonValue& document);

}  // namespace unshard
