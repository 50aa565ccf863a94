#include "codec/array/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "codec/array/document.h"
#include "codec/json/number.h"

namespace unshard {
namespace {

struct LengthUnit {
  std::string_view name;
  double nanometres;
};
constexpr std::array<LengthUnit, 20> kLengthUnits = {{
    {"pm", 1e-3},          {"Å", 0.1},
    {"angstrom", 0.1},     {"nm", 1},
    {"um", 1e3},           {"µm", 1e3},  // the micro sign, and the Greek letter
    {"μm", 1e3},           {"micron", 1e3},
    {"microns", 1e3},      {"mm", 1e6},
    {"cm", 1e7},           {"m", 1e9},
    {"km", 1e12},          {"inch", 2.54e7},
    {"in", 2.54e7},        {"foot", 3.048e8},
    {"ft", 3.048e8},       {"yard", 9.144e8},
    {"mile", 1.609344e12}, {"parsec", 3.0856775814913673e25},
}};
// What stands before "meter".
constexpr std::array<LengthUnit, 21> kMetres = {
    {{"", 1e9},      {"yocto", 1e-15}, {"zepto", 1e-12}, {"atto", 1e-9}, {"femto", 1e-6},
     {"pico", 1e-3}, {"nano", 1},      {"micro", 1e3},   {"milli", 1e6}, {"centi", 1e7},
     {"deci", 1e8},  {"deca", 1e10},   {"hecto", 1e11},  {"kilo", 1e12}, {"mega", 1e15},
     {"giga", 1e18}, {"tera", 1e21},   {"peta", 1e24},   {"exa", 1e27},  {"zetta", 1e30},
     {"yotta", 1e33}}};

std::optional<double> LengthIn(std::span<const LengthUnit> units, std::string_view name) {
  const auto known = std::ranges::find(units, name, &LengthUnit::name);
  return known == units.end() ? std::nullopt : std::optional(known->nanometres);
}

std::optional<double> NanometresOf(std::string_view name) {
  if (const auto length = LengthIn(kLengthUnits, name)) return length;
  for (const std::string_view metre : {"meter", "metre", "meters", "metres"}) {
    if (name.ends_with(metre)) return LengthIn(kMetres, name.substr(0, name.size() - metre.size()));
  }
  return std::nullopt;
}

Result<DimensionUnit> ParseUnit(const JsonCursor& json) {
  DimensionUnit unit;
  if (json.value().is_string()) return ParseDimensionUnit(json.value().text());
  if (json.value().is_number()) {
    UNSHARD_ASSIGN_OR_RETURN(unit.multiplier, NumberAt(json));
    return unit;
  }
  if (json.value().items().size() != 2) {
    return json.Expected("a string, a number, a pair of a number and a unit, or null");
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto pair, json.Items());
  UNSHARD_ASSIGN_OR_RETURN(unit.multiplier, NumberAt(pair[0]));
  if (!(unit.multiplier > 0) || !std::isfinite(unit.multiplier)) {
    return pair[0].Expected("a finite number above 0");
  }
  UNSHARD_ASSIGN_OR_RETURN(unit.base, pair[1].String());
  return unit;
}

// A list with what `json` makes of each unit, and null where there is none.
template <class Make>
JsonValue ListOf(const DimensionUnits& units, const Make& json) {
  JsonValue list = JsonValue::Array();
  for (const auto& unit : units) list.mutable_items().push_back(unit ? json(*unit) : JsonValue());
  return list;
}

}  // namespace

bool AnyUnit(const DimensionUnits& units) {
  return std::any_of(units.begin(), units.end(), [](const auto& unit) { return unit.has_value(); });
}

std::string DimensionUnitText(const DimensionUnit& unit, NumberText number) {
  if (unit.base.empty()) return number(unit.multiplier);
  return unit.multiplier == 1 ? unit.base : number(unit.multiplier) + " " + unit.base;
}

DimensionUnit ParseDimensionUnit(std::string_view text) {
  constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";
  text = Trimmed(text, kWhiteSpace);
  DimensionUnit unit;
  const std::size_t sign = text.starts_with('+') || text.starts_with('-') ? 1 : 0;
  // from_chars would take "inf" and "nan" as well, which begin the names of units.
  if (sign < text.size() && (IsDigit(text[sign]) || text[sign] == '.')) {
    const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(begin, end, unit.multiplier);
    if (error == std::errc()) text = Trimmed({at, static_cast<std::size_t>(end - at)}, kWhiteSpace);
  }
  unit.base = std::string(text);
  return unit;
}

std::optional<double> Nanometres(const DimensionUnit& unit) {
  const auto length = NanometresOf(unit.base);
  return length ? std::optional(unit.multiplier * *length) : std::nullopt;
}

Result<DimensionUnits> ParseUnitTexts(const JsonCursor& units, std::size_t rank) {
  UNSHARD_ASSIGN_OR_RETURN(const auto texts, ParseAxisNames(units, rank));
  DimensionUnits parsed;
  for (const auto& text : texts) {
    parsed.push_back(text ? std::optional(ParseDimensionUnit(*text)) : std::nullopt);
  }
  return parsed;
}

JsonValue UnitTexts(const DimensionUnits& units, NumberText number) {
  return ListOf(units, [number](const DimensionUnit& unit) {
    return JsonValue::String(DimensionUnitText(unit, number));
  });
}

Result<DimensionUnits> ParseDimensionUnits(const std::vector<JsonCursor>& items) {
  DimensionUnits units(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].value().is_null()) continue;
    UNSHARD_ASSIGN_OR_RETURN(units[i], ParseUnit(items[i]));
  }
  return units;
}

JsonValue DimensionUnitsJson(const DimensionUnits& units) {
  return ListOf(units, [](const DimensionUnit& unit) {
    return JsonValue::Array({DoubleNumber(unit.multiplier), JsonValue::String(unit.base)});
  });
}

}  // namespace unshard
