#include "codec/zarr3/fill_value.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "codec/array/fill_value.h"
#include "codec/json/meaning.h"

namespace unshard {
namespace {

// "NaT" is the smallest signed number of 64 bits.
JsonValue AsTimeNumber(const JsonValue& value) {
  if (!value.is_string() || value.text() != "NaT") return value;
  return JsonValue::Number(std::to_string(std::numeric_limits<std::int64_t>::min()));
}

}  // namespace

bool SameFillValue(std::string_view data_type, const JsonValue& a, const JsonValue& b) {
  if (SameMeaning(a, b)) return true;
  if (data_type.starts_with("numpy.")) return SameMeaning(AsTimeNumber(a), AsTimeNumber(b));
  const auto type = FindDataType(DataTypeDialect::kZarr, data_type);
  if (!type) return false;
  const auto x = ParseFillValue(JsonCursor(a, ""), *type);
  const auto y = ParseFillValue(JsonCursor(b, ""), *type);
  return x && y && *x == *y;
}

}  // namespace unshard
