// The names of data types in NumPy's array interface, which Zarr v2 and numcodecs use. Pure;
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codec/voxel/data_type.h"

namespace unshard {

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
