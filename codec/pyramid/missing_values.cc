#include "codec/pyramid/missing_values.h"

#include <optional>
#include <utility>

#include "codec/types/fill_value.h"

namespace unshard {
namespace {

constexpr const char* kMissingValue = "_FillValue";

// Zarr v2 may have it as an attribute too, as a plain number.
std::optional<ByteVector> MissingValueInZarr2(const Array& array) {
  if (array.fill_value) return array.fill_value;
  const JsonValue* attribute = array.attributes.Find(kMissingValue);
  if (attribute == nullptr) return std::nullopt;
  auto parsed = ParseFillValue(JsonCursor(*attribute, ""), array.data_type);
  return parsed ? std::optional(*std::move(parsed)) : std::nullopt;
}

}  // namespace

void CarryMissingValue(const Array& stored, bool is_level, Array& presented) {
  if (!stored.item_type.is_null()) return;
  if (stored.dialect == Dialect::kZarr2 && presented.dialect == Dialect::kZarr3) {
    const auto missing = HasAllNames(stored) ? MissingValueInZarr2(stored) : std::nullopt;
    if (!missing) return;
    presented.attributes.Set(kMissingValue, WriteXarrayFillValue(*missing, stored.data_type));
    return;
  }
  const bool to_zarr2 = stored.dialect == Dialect::kZarr3 && presented.dialect == Dialect::kZarr2;
  if (!to_zarr2 || !HasAllNames(presented)) return;
  const JsonValue* attribute = presented.attributes.Find(kMissingValue);
  auto missing =
      attribute != nullptr ? ParseXarrayFillValue(*attribute, presented.data_type) : std::nullopt;
  if (missing) presented.attributes.Erase(kMissingValue);
  if (missing || !is_level) presented.fill_value = std::move(missing);
}

bool DefinesAbsent(const Array& array) {
  return array.dialect != Dialect::kZarr2 || array.fill_value.has_value();
}

bool AbsentReadsAlike(const Array& from, const Array& to) {
  if (DefinesAbsent(from) && !DefinesAbsent(to)) return false;
  return FillValueOf(from) == FillValueOf(to);
}

}  // namespace unshard
