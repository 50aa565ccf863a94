#include "codec/voxel/data_type.h"

#include <array>

namespace unshard {
namespace {

struct DataType {
  std::string_view name;
  std::uint64_t bytes;
  unsigned dialects;
};

constexpr unsigned kZarr = static_cast<unsigned>(DataTypeDialect::kZarr);
constexpr unsigned kVolume = static_cast<unsigned>(DataTypeDialect::kPrecomputedVolume);
constexpr unsigned kAttributes = static_cast<unsigned>(DataTypeDialect::kPrecomputedAttributes);

constexpr std::array<DataType, 19> kDataTypes = {{{"bool", 1, kZarr},
                                                  {"int8", 1, kZarr | kVolume | kAttributes},
                                                  {"uint8", 1, kZarr | kVolume | kAttributes},
                                                  {"int16", 2, kZarr | kVolume | kAttributes},
                                                  {"uint16", 2, kZarr | kVolume | kAttributes},
                                                  {"float16", 2, kZarr},
                                                  {"bfloat16", 2, kZarr},
                                                  {"rgb", 3, kAttributes},
                                                  {"rgba", 4, kAttributes},
                                                  {"int32", 4, kZarr | kVolume | kAttributes},
                                                  {"uint32", 4, kZarr | kVolume | kAttributes},
                                                  {"float32", 4, kZarr | kVolume | kAttributes},
                                                  {"int64", 8, kZarr | kVolume},
                                                  {"uint64", 8, kZarr | kVolume},
                                                  {"float64", 8, kZarr | kVolume},
                                                  {"complex64", 8, kZarr},
                                                  {"complex128", 16, kZarr},
                                                  {"numpy.datetime64", 8, kZarr},
                                                  {"numpy.timedelta64", 8, kZarr}}};

}  // namespace

std::optional<std::uint64_t> DataTypeSize(DataTypeDialect dialect, std::string_view name) {
  for (const DataType& type : kDataTypes) {
    if (type.name != name) continue;
    if ((type.dialects & static_cast<unsigned>(dialect)) != 0) return type.bytes;
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace unshard
