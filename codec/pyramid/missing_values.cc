#include "codec/pyramid/missing_values.h"

#include <optional>
#include <utility>

#include "codec/types/fill_value.h"

namespace unshard {
namespace {

constexpr const char* kMissingValue = "_FillValue";

// Zarr v2 may have it as an attribute too, as a plain number.
std::optional<ByteVector> MissingValueInZarr2(const ArrayMetadata& array) {
  if (array.fill_value) return array.fill_value;
  const JsonValue* attribute = array.attributes.Find(kMissingValue);
  if (attribute == nullptr) return std::nullopt;
  auto parsed = ParseFillValue(JsonCursor(*attribute, ""), array.data_type);
  return parsed ? std::optional(*std::move(parsed)) : std::nullopt;
}

}  // namespace

void CarryMissingValue(const ArrayMetadata& stored, bool is_level, ArrayMetadata& presented) {
  if (stored.dialect == ArrayDialect::kZarr2 && presented.dialect == ArrayDialect::kZarr3) {
    const auto missing = HasAllNames(stored) ? MissingValueInZarr2(stored) : std::nullopt;
    if (!missing) return;
    presented.attributes.Set(kMissingValue, WriteXarrayFillValue(*missing, stored.data_type));
    return;
  }
  const bool to_zarr2 =
      stored.dialect == ArrayDialect::kZarr3 && presented.dialect == ArrayDialect::kZarr2;
  if (!to_zarr2 || !HasAllNames(presented)) return;
  const JsonValue* attribute = presented.attributes.Find(kMissingValue);
  auto missing =
      attribute != nullptr ? ParseXarrayFillValue(*attribute, presented.data_type) : std::nullopt;
  if (missing) presented.attributes.Erase(kMissingValue);
  if (missing || !is_level) presented.fill_value = std::move(missing);
}

bool DefinesAbsent(const ArrayMetadata& array) {
  return array.dialect != ArrayDialect::kZarr2 || array.fill_value.has_value();
}

bool AbsentReadsAlike(const ArrayMetadata& from, const ArrayMetadata& to) {
  if (DefinesAbsent(from) && !DefinesAbsent(to)) return false;
  return FillValueOf(from) == FillValueOf(to);
}

}  // namespace unshard
