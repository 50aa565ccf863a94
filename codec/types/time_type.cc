#include "codec/types/time_type.h"

#include <array>
#include <cstdint>
#include <utility>

#include "codec/core/text.h"

namespace unshard {
namespace {

constexpr std::string_view kDatetime = "numpy.datetime64";
constexpr std::string_view kTimedelta = "numpy.timedelta64";
constexpr std::string_view kGeneric = "generic";
constexpr std::array<std::string_view, 14> kUnits = {"Y",  "M",  "W",  "D",  "h",  "m",  "s",
                                                     "ms", "us", "ns", "ps", "fs", "as", kGeneric};
constexpr std::string_view kMicroseconds = "\xce\xbcs";  // which Zarr v3 accepts for "us"
constexpr std::uint64_t kMaxScale = 0x7fffffff;

// The digits before the unit: "10us".
std::optional<std::uint64_t> ScaleIn(std::string_view digits) {
  if (digits.empty()) return 1;
  const auto scale = ParseNumber<std::uint64_t>(digits);
  return scale && *scale >= 1 && *scale <= kMaxScale ? scale : std::nullopt;
}

}  // namespace

bool IsTime(const JsonValue& data_type) {
  const std::string name = TextOf(data_type, "name");
  const JsonValue* const configuration = data_type.Find("configuration");
  if ((name != kDatetime && name != kTimedelta) || configuration == nullptr) return false;
  const std::string unit = TextOf(*configuration, "unit");
  const JsonValue* const scale = configuration->Find("scale_factor");
  return (IsOneOf(kUnits, unit) || unit == kMicroseconds) && scale != nullptr &&
         scale->is_number() && ScaleIn(scale->text()) && data_type.members().size() == 2 &&
         configuration->members().size() == 2;
}

std::optional<NumpyTime> ParseNumpyTime(std::string_view name) {
  const bool big_endian = name.starts_with('>');
  if (!big_endian && !name.starts_with('<')) return std::nullopt;
  const std::string_view kind = name.substr(1, 2);
  std::string_view unit = name.substr(std::min<std::size_t>(name.size(), 3));
  if (kind != "M8" && kind != "m8") return std::nullopt;
  std::optional<std::uint64_t> scale = 1;
  if (unit.empty()) {
    unit = kGeneric;
  } else {
    if (!unit.starts_with('[') || !unit.ends_with(']')) return std::nullopt;
    unit = unit.substr(1, unit.size() - 2);
    const std::size_t digits = std::min(unit.find_first_not_of("0123456789"), unit.size());
    scale = ScaleIn(unit.substr(0, digits));
    unit = unit.substr(digits);
  }
  if (!scale || !IsOneOf(kUnits, unit)) return std::nullopt;
  JsonValue configuration = JsonValue::Object({{"unit", JsonValue::String(std::string(unit))},
                                               {"scale_factor", JsonValue::Number(*scale)}});
  const std::string_view type = kind == "M8" ? kDatetime : kTimedelta;
  return NumpyTime{JsonValue::Object({{"name", JsonValue::String(std::string(type))},
                                      {"configuration", std::move(configuration)}}),
                   big_endian};
}

std::string NumpyTimeName(const NumpyTime& type) {
  std::string name = type.big_endian ? ">" : "<";
  name += TextOf(type.data_type, "name") == kDatetime ? "M8" : "m8";
  const JsonValue& configuration = *type.data_type.Find("configuration");
  const std::string unit = TextOf(configuration, "unit");
  const std::string scale = configuration.Find("scale_factor")->text();
  if (unit == kGeneric && scale == "1") return name;
  return name + "[" + (scale == "1" ? "" : scale) + (unit == kMicroseconds ? "us" : unit) + "]";
}

}  // namespace unshard
