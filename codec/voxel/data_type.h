// How many bytes one value of a data type has, for every dialect of metadata. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace unshard {

// Who names the type: a type that a dialect does not have is not known there.
enum class DataTypeDialect : std::uint8_t {
  kZarr = 1,                   // `data_type` of an array
  kPrecomputedVolume = 2,      // `data_type` of a volume
  kPrecomputedAttributes = 4,  // attributes of vertices, properties of annotations
};

// Nothing where the dialect has no such type, or its values vary in length.
std::optional<std::uint64_t> DataTypeSize(DataTypeDialect dialect, std::string_view name);

}  // namespace unshard
