// The items of all data types of Zarr v3, those that are no voxels too: texts, times,
// structs. Pure; thread-safe.
#pragma once

#include <optional>

#include "codec/json/json.h"
#include "codec/types/data_type.h"

namespace unshard {

// The items of `data_type`, a name or an object with one, as chunks store them: an item of a type
// without voxels is kRaw of its size, and kOpaque of size 0 where items differ in length. Nothing
// where the type is not known.
std::optional<DataType> FindItemType(const JsonValue& data_type);

}  // namespace unshard
