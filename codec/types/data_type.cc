#include "codec/types/data_type.h"

#include <algorithm>
#include <array>

#include "codec/core/text.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

constexpr unsigned Sum(auto... dialects) { return (static_cast<unsigned>(dialects) | ...); }

constexpr unsigned kSchema = Sum(DataTypeDialect::kSchema);
constexpr unsigned kAttributes = Sum(DataTypeDialect::kPrecomputedAttributes);
constexpr unsigned kTime = Sum(DataTypeDialect::kZarr);
constexpr unsigned kTiny = Sum(DataTypeDialect::kSchema, DataTypeDialect::kNewZarr);
constexpr unsigned kZarr = kTiny | Sum(DataTypeDialect::kZarr);
constexpr unsigned kRead = kZarr | Sum(DataTypeDialect::kN5, DataTypeDialect::kPrecomputedVolume);
constexpr unsigned kVolume = kRead | Sum(DataTypeDialect::kNewVolume);
constexpr unsigned kAll = kVolume | kAttributes;

constexpr auto kTypes = std::to_array<DataTypeNames>({
    {"bool", {Kind::kBool, 1}, 8, "|b1", "", 0, kZarr},
    {"int2", {Kind::kSigned, 1}, 2, "int2", "", 0, kTiny},
    {"int4", {Kind::kSigned, 1}, 4, "int4", "", 0, kTiny},
    {"int8", {Kind::kSigned, 1}, 8, "|i1", "int8", 256, kAll},
    {"uint8", {Kind::kUnsigned, 1}, 8, "|u1", "uint8", 2, kAll},
    {"int16", {Kind::kSigned, 2}, 16, "<i2", "int16", 4, kAll},
    {"uint16", {Kind::kUnsigned, 2}, 16, "<u2", "uint16", 512, kAll},
    {"int32", {Kind::kSigned, 4}, 32, "<i4", "int32", 8, kAll},
    {"uint32", {Kind::kUnsigned, 4}, 32, "<u4", "uint32", 768, kAll},
    {"int64", {Kind::kSigned, 8}, 64, "<i8", "int64", 1024, kRead},
    {"uint64", {Kind::kUnsigned, 8}, 64, "<u8", "uint64", 1280, kVolume},
    {"float4_e2m1fn", {Kind::kFloat, 1}, 4, "float4_e2m1fn", "", 0, kTiny},
    {"float8_e3m4", {Kind::kFloat, 1}, 8, "float8_e3m4", "", 0, kTiny},
    {"float8_e4m3fn", {Kind::kFloat, 1}, 8, "float8_e4m3fn", "", 0, kTiny},
    {"float8_e4m3fnuz", {Kind::kFloat, 1}, 8, "float8_e4m3fnuz", "", 0, kTiny},
    {"float8_e4m3b11fnuz", {Kind::kFloat, 1}, 8, "float8_e4m3b11fnuz", "", 0, kTiny},
    {"float8_e5m2", {Kind::kFloat, 1}, 8, "float8_e5m2", "", 0, kTiny},
    {"float8_e5m2fnuz", {Kind::kFloat, 1}, 8, "float8_e5m2fnuz", "", 0, kTiny},
    {"bfloat16", {Kind::kBrainFloat, 2}, 16, "bfloat16", "", 0, kZarr},
    {"float16", {Kind::kFloat, 2}, 16, "<f2", "", 0, kZarr},
    {"float32", {Kind::kFloat, 4}, 32, "<f4", "float", 16, kAll},
    {"float64", {Kind::kFloat, 8}, 64, "<f8", "double", 64, kRead},
    {"complex64", {Kind::kComplex, 8}, 64, "<c8", "", 32, kZarr},
    {"complex128", {Kind::kComplex, 16}, 128, "<c16", "", 1792, kZarr},
    {"numpy.datetime64", {Kind::kOpaque, 8}, 64, "", "", 0, kTime},
    {"numpy.timedelta64", {Kind::kOpaque, 8}, 64, "", "", 0, kTime},
    {"rgb", {Kind::kOpaque, 3}, 24, "", "", 0, kAttributes},
    {"rgba", {Kind::kOpaque, 4}, 32, "", "", 0, kAttributes},
    {"char", {Kind::kOpaque, 1}, 8, "", "", 0, kSchema},
    {"byte", {Kind::kOpaque, 1}, 8, "", "", 0, kSchema},
    {"string", {Kind::kOpaque, 0}, 0, "", "", 0, kSchema},
    {"ustring", {Kind::kOpaque, 0}, 0, "", "", 0, kSchema},
    {"json", {Kind::kOpaque, 0}, 0, "", "", 0, kSchema},
});

template <class Test>
const DataTypeNames* FirstOf(const Test& test) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), test);
  return found == kTypes.end() ? nullptr : &*found;
}

// "r24" has 3 bytes.
std::optional<std::uint32_t> RawBytes(std::string_view name) {
  if (name.size() < 2 || name[0] != 'r' || name[1] == '0') return std::nullopt;
  const auto bits = ParseNumber<std::uint32_t>(name.substr(1));
  if (!bits || *bits % 8 != 0) return std::nullopt;
  return *bits / 8;
}

// NumPy's names begin with the byte order; '|': bytes have none.
bool HasByteOrder(std::string_view dtype) {
  return !dtype.empty() && std::string_view("<>|=").find(dtype.front()) != dtype.npos;
}

// "V3" has 3 bytes.
std::optional<NumpyType> ParseNumpyRaw(std::string_view name) {
  constexpr std::uint32_t kMax = 1u << 20;
  if (name.size() < 2 || name[1] == '0') return std::nullopt;
  const auto size = ParseNumber<std::uint32_t>(name.substr(1));
  if (!size || *size > kMax) return std::nullopt;
  return NumpyType{{Kind::kRaw, *size}, false};
}

}  // namespace

const DataTypeNames* FindDataTypeNames(DataTypeDialect dialect, std::string_view name) {
  return FirstOf([&](const DataTypeNames& row) { return row.name == name && row.IsIn(dialect); });
}

const DataTypeNames* FindDataTypeNames(const DataType& type) {
  return FirstOf([&](const DataTypeNames& row) {
    return row.type == type && row.IsIn(DataTypeDialect::kZarr) && type.kind != Kind::kOpaque;
  });
}

std::vector<std::string_view> AllDataTypeNames(DataTypeDialect dialect) {
  std::vector<std::string_view> names;
  for (const DataTypeNames& row : kTypes) {
    if (row.IsIn(dialect)) names.push_back(row.name);
  }
  return names;
}

std::optional<std::uint64_t> DataTypeSize(DataTypeDialect dialect, std::string_view name) {
  const DataTypeNames* const row = FindDataTypeNames(dialect, name);
  return row != nullptr ? std::optional<std::uint64_t>(row->type.size) : std::nullopt;
}

std::string DataTypeName(const DataType& type) {
  if (type.kind == Kind::kRaw) return "r" + std::to_string(std::uint64_t{type.size} * 8);
  if (const DataTypeNames* const row = FindDataTypeNames(type)) return std::string(row->name);
  return "a type of " + std::to_string(type.size) + " bytes";
}

std::optional<DataType> FindDataType(DataTypeDialect dialect, std::string_view name) {
  if (const DataTypeNames* const row = FindDataTypeNames(dialect, name)) {
    return row->type.kind != Kind::kOpaque ? std::optional(row->type) : std::nullopt;
  }
  if (dialect != DataTypeDialect::kZarr) return std::nullopt;
  const auto raw = RawBytes(name);
  return raw ? std::optional(DataType{Kind::kRaw, *raw}) : std::nullopt;
}

std::optional<NumpyType> ParseNumpyType(std::string_view name) {
  const char mark = HasByteOrder(name) ? name.front() : '<';
  const std::string_view bare = HasByteOrder(name) ? name.substr(1) : name;
  if (bare.starts_with('V')) return ParseNumpyRaw(bare);
  const DataTypeNames* const row = FirstOf([&](const DataTypeNames& each) {
    const bool same = HasByteOrder(each.dtype) ? each.dtype.substr(1) == bare : each.dtype == name;
    return same && each.IsIn(DataTypeDialect::kZarr) && each.type.kind != Kind::kOpaque;
  });
  if (row == nullptr || (row->type.size > 1 && mark == '|')) return std::nullopt;
  return NumpyType{row->type, mark == '>' && row->type.size > 1};
}

std::string NumpyTypeName(const NumpyType& type) {
  if (type.type.kind == Kind::kRaw) return "|V" + std::to_string(type.type.size);
  const DataTypeNames* const row = FindDataTypeNames(type.type);
  std::string name(row != nullptr ? row->dtype : "");
  if (name.starts_with('<') && type.big_endian) name.front() = '>';
  return name;
}

}  // namespace unshard
