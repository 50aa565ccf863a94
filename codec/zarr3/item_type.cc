#include "codec/zarr3/item_type.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "codec/core/byte_range.h"
#include "codec/core/text.h"
#include "codec/json/cursor.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxSize = std::numeric_limits<std::uint32_t>::max();
constexpr std::array<std::string_view, 3> kTypesWithLength = {"fixed_length_utf32",
                                                              "null_terminated_bytes", "raw_bytes"};
constexpr std::array<std::string_view, 3> kTypesOfAnyLength = {"string", "bytes",
                                                               "variable_length_bytes"};

// The type of a field: {"name": …, "data_type": …}, or in old documents [name, type].
const JsonValue* TypeOfField(const JsonValue& field) {
  if (field.is_object()) return field.Find("data_type");
  return field.is_array() && field.items().size() == 2 ? &field.items().back() : nullptr;
}

// The size of a struct, whose fields follow each other without gaps.
std::optional<std::uint64_t> SizeOfFields(const JsonValue* fields) {
  if (fields == nullptr || !fields->is_array()) return std::nullopt;
  std::uint64_t size = 0;
  for (const JsonValue& field : fields->items()) {
    const JsonValue* const type = TypeOfField(field);
    const auto item = type != nullptr ? FindItemType(*type) : std::nullopt;
    if (!item || item->size == 0) return std::nullopt;
    size += item->size;
    if (size > kMaxSize) return std::nullopt;
  }
  return size;
}

std::optional<std::uint64_t> SizeOf(const std::string& name, const JsonValue& data_type) {
  for (const auto dialect : {DataTypeDialect::kZarr, DataTypeDialect::kNewZarr}) {
    if (const auto size = DataTypeSize(dialect, name)) return size;
  }
  const JsonValue* const configuration = data_type.Find("configuration");
  if (configuration == nullptr) return std::nullopt;
  if (name == "struct" || name == "structured") return SizeOfFields(configuration->Find("fields"));
  if (!IsOneOf(kTypesWithLength, name)) return std::nullopt;
  const auto length = JsonCursor(*configuration, "").UnsignedMember("length_bytes", 1, kMaxSize);
  return length ? std::optional(*length) : std::nullopt;
}

}  // namespace

std::optional<DataType> FindItemType(const JsonValue& data_type) {
  const std::string name = data_type.is_string() ? data_type.text() : TextOf(data_type, "name");
  if (const auto voxel = FindDataType(DataTypeDialect::kZarr, name)) return voxel;
  if (IsOneOf(kTypesOfAnyLength, name)) return DataType{DataType::Kind::kOpaque, 0};
  const auto size = SizeOf(name, data_type);
  if (!size || *size == 0) return std::nullopt;
  return DataType{DataType::Kind::kRaw, static_cast<std::uint32_t>(*size)};
}

}  // namespace unshard
