// The names of data types in NumPy's array interface, as Zarr v2 and numcodecs have them. Pure;
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

// "<u2", "|b1", ">c16", "|V3", and TensorStore's "bfloat16"; the mark of the byte order may be
// absent: little-endian. Nothing for types that are no voxels: texts, times, objects.
std::optional<NumpyType> ParseNumpyType(std::string_view name);

// The inverse. big_endian is ignored where bytes have no order.
std::string NumpyTypeName(const NumpyType& type);

}  // namespace unshard
