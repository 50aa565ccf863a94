// What the configurations of Zarr's extension points mean where they lack a member.
#pragma once

#include <string_view>

#include "codec/json/json.h"

namespace unshard {

// Whether `value` says of `member`, in the configuration of the codec or key encoding `name`, only
// what its absence means to readers.
bool IsZarrDefault(std::string_view name, std::string_view member, const JsonValue& value);

}  // namespace unshard
