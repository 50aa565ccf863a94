// The data types of all dialects of metadata, and the size of a value in bytes. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace unshard {

// The metadata in which a type is named; each dialect has types of its own.
enum class DataTypeDialect : std::uint8_t {
  kZarr = 1,                   // `data_type` of a Zarr v3 array
  kPrecomputedVolume = 2,      // `data_type` of a volume
  kPrecomputedAttributes = 4,  // attributes of vertices, properties of annotations
  kN5 = 8,                     // `dataType` of a dataset
};

// The bytes of one value; nothing where the dialect has no such type, or its values vary in length.
std::optional<std::uint64_t> DataTypeSize(DataTypeDialect dialect, std::string_view name);

// The type of one voxel, independent of any dialect.
struct DataType {
  enum class Kind : std::uint8_t {
    kBool,        // one byte, 0 or 1
    kSigned,      // two's complement
    kUnsigned,    //
    kFloat,       // IEEE 754 of 2, 4 or 8 bytes
    kBrainFloat,  // the upper half of a float of 4 bytes
    kComplex,     // two floats: the real part, the imaginary part
    kRaw,         // bytes without a meaning
  };
  Kind kind = Kind::kUnsigned;
  std::uint32_t size = 1;  // bytes of one value

  // The size of the parts whose bytes a big-endian encoding reverses: the value, one of the two
  // floats of a complex value, or single bytes of raw values.
  [[nodiscard]] std::uint32_t ordered_size() const {
    if (kind == Kind::kRaw) return 1;
    return kind == Kind::kComplex ? size / 2 : size;
  }
  friend bool operator==(const DataType&, const DataType&) = default;
};

inline constexpr DataType kUint8 = {DataType::Kind::kUnsigned, 1};
inline constexpr DataType kUint16 = {DataType::Kind::kUnsigned, 2};
inline constexpr DataType kUint32 = {DataType::Kind::kUnsigned, 4};
inline constexpr DataType kUint64 = {DataType::Kind::kUnsigned, 8};

// The name of the type in Zarr v3: "uint16", "bool", "complex64", "r24". Precomputed volumes and N5
// name the types that they have alike.
std::string DataTypeName(const DataType& type);

// The type of voxels that a dialect calls `name`; nothing where it has no such type, or its values
// are no voxels (times, colours, texts).
std::optional<DataType> FindDataType(DataTypeDialect dialect, std::string_view name);

}  // namespace unshard
