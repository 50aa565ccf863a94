#include "codec/voxel/data_type.h"

#include <algorithm>
#include <array>

#include "codec/core/text.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

struct KnownType {
  std::string_view name;
  std::uint32_t bytes;
  unsigned dialects;
  std::optional<Kind> kind;  // nothing: no voxels
};

constexpr unsigned kZarr = static_cast<unsigned>(DataTypeDialect::kZarr);
constexpr unsigned kVolume = static_cast<unsigned>(DataTypeDialect::kPrecomputedVolume);
constexpr unsigned kAttributes = static_cast<unsigned>(DataTypeDialect::kPrecomputedAttributes);
constexpr unsigned kN5 = static_cast<unsigned>(DataTypeDialect::kN5);
constexpr unsigned kAll = kZarr | kVolume | kAttributes | kN5;

constexpr std::array<KnownType, 19> kDataTypes = {
    {{"bool", 1, kZarr, Kind::kBool},
     {"int8", 1, kAll, Kind::kSigned},
     {"uint8", 1, kAll, Kind::kUnsigned},
     {"int16", 2, kAll, Kind::kSigned},
     {"uint16", 2, kAll, Kind::kUnsigned},
     {"float16", 2, kZarr, Kind::kFloat},
     {"bfloat16", 2, kZarr, Kind::kBrainFloat},
     {"rgb", 3, kAttributes, std::nullopt},
     {"rgba", 4, kAttributes, std::nullopt},
     {"int32", 4, kAll, Kind::kSigned},
     {"uint32", 4, kAll, Kind::kUnsigned},
     {"float32", 4, kAll, Kind::kFloat},
     {"int64", 8, kZarr | kVolume | kN5, Kind::kSigned},
     {"uint64", 8, kZarr | kVolume | kN5, Kind::kUnsigned},
     {"float64", 8, kZarr | kVolume | kN5, Kind::kFloat},
     {"complex64", 8, kZarr, Kind::kComplex},
     {"complex128", 16, kZarr, Kind::kComplex},
     {"numpy.datetime64", 8, kZarr, std::nullopt},
     {"numpy.timedelta64", 8, kZarr, std::nullopt}}};

const KnownType* Find(DataTypeDialect dialect, std::string_view name) {
  const auto found = std::find_if(kDataTypes.begin(), kDataTypes.end(), [&](const KnownType& type) {
    return type.name == name && (type.dialects & static_cast<unsigned>(dialect)) != 0;
  });
  return found == kDataTypes.end() ? nullptr : &*found;
}

// "r24" has 3 bytes.
std::optional<std::uint32_t> RawBytes(std::string_view name) {
  if (name.size() < 2 || name[0] != 'r' || name[1] == '0') return std::nullopt;
  const auto bits = ParseNumber<std::uint32_t>(name.substr(1));
  if (!bits || *bits % 8 != 0) return std::nullopt;
  return *bits / 8;
}

}  // namespace

std::optional<std::uint64_t> DataTypeSize(DataTypeDialect dialect, std::string_view name) {
  const KnownType* const type = Find(dialect, name);
  return type != nullptr ? std::optional<std::uint64_t>(type->bytes) : std::nullopt;
}

std::string DataTypeName(const DataType& type) {
  if (type.kind == Kind::kRaw) return "r" + std::to_string(std::uint64_t{type.size} * 8);
  for (const KnownType& known : kDataTypes) {
    if (known.kind == type.kind && known.bytes == type.size) return std::string(known.name);
  }
  return "a type of " + std::to_string(type.size) + " bytes";
}

std::optional<DataType> FindDataType(DataTypeDialect dialect, std::string_view name) {
  if (const KnownType* const type = Find(dialect, name)) {
    return type->kind ? std::optional(DataType{*type->kind, type->bytes}) : std::nullopt;
  }
  if (dialect != DataTypeDialect::kZarr) return std::nullopt;
  const auto raw = RawBytes(name);
  return raw ? std::optional(DataType{Kind::kRaw, *raw}) : std::nullopt;
}

}  // namespace unshard
