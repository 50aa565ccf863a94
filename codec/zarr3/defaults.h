// Default values in the configurations of Zarr's extension points.
#pragma once

#include <string_view>

#include "codec/json/json.h"

namespace unshard {

// Whether a configuration of the codec or key encoding `name` that lacks `member` means the same to
// readers as one with this `value`. Pure function; thread-safe.
bool IsZarrDefault(std::string_view name, std::string_view member, const JsonValue& value);

}  // namespace unshard
