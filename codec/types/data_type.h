// The data types of all formats: one table of their names, sizes and codes. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unshard {

// The metadata in which a type is named; each dialect has types of its own.
enum class DataTypeDialect : std::uint8_t {
  kZarr = 1,                   // `data_type` of a Zarr v3 array
  kPrecomputedVolume = 2,      // `data_type` of a volume
  kPrecomputedAttributes = 4,  // attributes of vertices, properties of annotations
  kN5 = 8,                     // `dataType` of a dataset
  kSchema = 16,                // `dtype` of a schema of TensorStore
  kNewZarr = 32,               // of a Zarr array that is created
  // Of a volume that is created: Neuroglancer, TensorStore and CloudVolume read it.
  kNewVolume = 64,
};

// The type of one voxel, independent of any dialect.
struct DataType {
  enum class Kind : std::uint8_t {
    kBool,        // one byte, 0 or 1
    kSigned,      // two's complement
    kUnsigned,    //
    kFloat,       // IEEE 754 of 2, 4 or 8 bytes; of 1 byte only in schemas
    kBrainFloat,  // the upper half of a float of 4 bytes
    kComplex,     // two floats: the real part, the imaginary part
    kRaw,         // bytes without a meaning
    kOpaque,      // no voxels: times, colours, texts
  };
  Kind kind = Kind::kUnsigned;
  std::uint32_t size = 1;  // bytes of one value; 0: kOpaque of values that differ in length

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

// One row of the table. An empty name, or the code 0: the format has no such type.
struct DataTypeNames {
  std::string_view name;   // in all dialects that have the type
  DataType type;           // size 0: values vary in length
  std::uint32_t bits = 0;  // of a value; of int2 and int4 fewer than are stored
  std::string_view dtype;  // of Zarr v2, little-endian; "<u2" is NumPy's, "int4" TensorStore's
  std::string_view nrrd;   // `type` of NRRD
  std::int16_t nifti = 0;  // `datatype` of NIfTI
  unsigned dialects = 0;   // the sum of those that have the type

  [[nodiscard]] bool IsIn(DataTypeDialect dialect) const {
    return (dialects & static_cast<unsigned>(dialect)) != 0;
  }
};

// The row that a dialect calls `name`; a null pointer where it has no such type.
const DataTypeNames* FindDataTypeNames(DataTypeDialect dialect, std::string_view name);
// The row of a type of voxels; a null pointer for raw types, which the table does not have.
const DataTypeNames* FindDataTypeNames(const DataType& type);
// The names of all types of a dialect, in the order of the table.
std::vector<std::string_view> AllDataTypeNames(DataTypeDialect dialect);

// The bytes of one value; nothing where the dialect has no such type.
std::optional<std::uint64_t> DataTypeSize(DataTypeDialect dialect, std::string_view name);

// The name of the type in Zarr v3: "uint16", "bool", "complex64", "r24".
std::string DataTypeName(const DataType& type);

// The type of voxels that a dialect calls `name`; nothing where it has no such type, or its values
// are no voxels.
std::optional<DataType> FindDataType(DataTypeDialect dialect, std::string_view name);

// A type as NumPy's array interface names it, which Zarr v2 and numcodecs use.
struct NumpyType {
  DataType type;
  bool big_endian = false;  // false where bytes have no order
};

// The type of "<u2", "|b1", ">c16", "|V3", or TensorStore's "bfloat16"; without a mark of the byte
// order, little-endian. Nothing for types that are no voxels: texts, times, objects.
std::optional<NumpyType> ParseNumpyType(std::string_view name);

// The inverse. big_endian is ignored where bytes have no order.
std::string NumpyTypeName(const NumpyType& type);

}  // namespace unshard
