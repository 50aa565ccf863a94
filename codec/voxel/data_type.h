// The data types of all dialects of metadata, and the size of a value in bytes. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace unshard {

// Where the name of the type comes from; each dialect has types of its own.
enum class DataTypeDialect : std::uint8_t {
  kZarr = 1,                   // `data_type` of an array
  kPrecomputedVolume = 2,      // `data_type` of a volume
  kPrecomputedAttributes = 4,  // attributes of vertices, properties of annotations
};

// The bytes of one value; nothing where the dialect has no such type, or its values vary in length.
std::optional<std::uint64_t> DataTypeSize(DataTypeDialect dialect, std::string_view name);

}  // namespace unshard
