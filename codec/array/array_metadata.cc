#include "codec/array/array_metadata.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "codec/core/lower_case.h"
#include "codec/core/text.h"

namespace unshard {
namespace {

struct LengthUnit {
  std::string_view name;
  double nanometres;
};
constexpr std::array<LengthUnit, 33> kLengthUnits = {{
    {"pm", 1e-3},        {"picometer", 1e-3}, {"picometre", 1e-3}, {"Å", 0.1},
    {"angstrom", 0.1},   {"nm", 1},           {"nanometer", 1},    {"nanometre", 1},
    {"nanometers", 1},   {"um", 1e3},         {"µm", 1e3},         {"μm", 1e3},
    {"micron", 1e3},     {"microns", 1e3},    {"micrometer", 1e3}, {"micrometre", 1e3},
    {"mm", 1e6},         {"millimeter", 1e6}, {"millimetre", 1e6}, {"cm", 1e7},
    {"centimeter", 1e7}, {"centimetre", 1e7}, {"m", 1e9},          {"meter", 1e9},
    {"metre", 1e9},      {"km", 1e12},        {"kilometer", 1e12}, {"kilometre", 1e12},
    {"inch", 2.54e7},    {"in", 2.54e7},      {"foot", 3.048e8},   {"ft", 3.048e8},
    {"yard", 9.144e8},
}};

std::string EncodingOf(const ArrayMetadata& array) {
  switch (array.dialect) {
    case ArrayDialect::kPrecomputed:
      return LowerCase(TextOf(array.codec_json, "encoding"));
    case ArrayDialect::kN5:
      return TextOf(array.codec_json, "type");
    case ArrayDialect::kZarr2: {
      const JsonValue* const compressor = array.codec_json.Find("compressor");
      return compressor != nullptr ? TextOf(*compressor, "id") : "";
    }
    case ArrayDialect::kZarr3:
      break;
  }
  std::string names;
  for (const JsonValue& codec : array.codec_json.items()) {
    names += (names.empty() ? "" : ", ") + TextOf(codec, "name");
  }
  return names;
}

// Precomputed volumes do not list channels with x, y and z.
std::vector<std::uint64_t> Listed(const ArrayMetadata& array, std::vector<std::uint64_t> extents) {
  if (ListsFastestAxisFirst(array.dialect)) std::reverse(extents.begin(), extents.end());
  if (array.dialect == ArrayDialect::kPrecomputed && !extents.empty()) extents.pop_back();
  return extents;
}

}  // namespace

std::string_view DialectName(ArrayDialect dialect) {
  switch (dialect) {
    case ArrayDialect::kPrecomputed:
      return "precomputed";
    case ArrayDialect::kZarr3:
      return "zarr3";
    case ArrayDialect::kZarr2:
      return "zarr2";
    case ArrayDialect::kN5:
      break;
  }
  return "n5";
}

std::string DimensionUnitText(const DimensionUnit& unit) {
  if (unit.base.empty()) return ShortestDecimal(unit.multiplier);
  if (unit.multiplier == 1) return unit.base;
  return ShortestDecimal(unit.multiplier) + " " + unit.base;
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
  const auto known = std::find_if(kLengthUnits.begin(), kLengthUnits.end(),
                                  [&](const LengthUnit& one) { return one.name == unit.base; });
  if (known == kLengthUnits.end()) return std::nullopt;
  return unit.multiplier * known->nanometres;
}

Result<ArrayMetadata> ForVoxels(Result<ArrayMetadata> array) {
  if (array) UNSHARD_RETURN_IF_ERROR(array->voxels);
  return array;
}

Result<ChunkGrid> GridOf(const ArrayMetadata& array) {
  return ChunkGrid::Make(array.shape, array.chunk_shape, array.origin);
}

bool ListsFastestAxisFirst(ArrayDialect dialect) { return !IsZarr(dialect); }

bool ClipsChunks(ArrayDialect dialect) {
  return dialect == ArrayDialect::kPrecomputed || dialect == ArrayDialect::kN5;
}

std::vector<std::uint64_t> ChunkShapeAt(const ArrayMetadata& array, const ChunkGrid& grid,
                                        std::span<const std::uint64_t> cell) {
  return ClipsChunks(array.dialect) ? grid.ClippedShape(cell) : grid.chunk_shape();
}

bool HasAllNames(const ArrayMetadata& array) {
  return array.axis_names.size() == array.rank() &&
         std::all_of(array.axis_names.begin(), array.axis_names.end(),
                     [](const auto& name) { return name.has_value(); });
}

ByteVector FillValueOf(const ArrayMetadata& array) {
  return array.fill_value.value_or(ByteVector(array.data_type.size, 0));
}

ArrayDescription Describe(const ArrayMetadata& array) {
  const bool lower = array.dialect == ArrayDialect::kPrecomputed;
  return {lower ? LowerCase(array.type_name) : array.type_name, EncodingOf(array),
          Listed(array, array.shape), Listed(array, array.chunk_shape)};
}

}  // namespace unshard
