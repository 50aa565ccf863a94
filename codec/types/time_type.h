// Times and spans of time: numpy.datetime64 and numpy.timedelta64 of Zarr v3, and the types
// "<M8[ns]" and "<m8[10us]" of Zarr v2. Both store numbers of 64 bits; the smallest one, "NaT", is
// no time. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codec/json/json.h"
#include "codec/types/data_type.h"

namespace unshard {

// The voxels of times.
inline constexpr DataType kTimeNumber = {DataType::Kind::kSigned, 8};

// Whether `data_type` of Zarr v3 is one of times, with a unit and a scale factor that NumPy has.
bool IsTime(const JsonValue& data_type);

struct NumpyTime {
  JsonValue data_type;  // of Zarr v3
  bool big_endian = false;
};
// The type of "<M8[ns]", ">m8[10us]", "<M8". Nothing for other types.
std::optional<NumpyTime> ParseNumpyTime(std::string_view name);
// The inverse. Requires: IsTime(type.data_type).
std::string NumpyTimeName(const NumpyTime& type);

}  // namespace unshard
