#include "codec/array/array.h"

#include <algorithm>
#include <utility>

#include "codec/core/lower_case.h"

namespace unshard {
namespace {

std::string EncodingOf(const Array& array) {
  switch (array.dialect) {
    case Dialect::kPrecomputed:
      return LowerCase(TextOf(array.codec_json, "encoding"));
    case Dialect::kN5:
      return TextOf(array.codec_json, "type");
    case Dialect::kZarr2: {
      const JsonValue* const compressor = array.codec_json.Find("compressor");
      return compressor != nullptr ? TextOf(*compressor, "id") : "";
    }
    case Dialect::kZarr3:
      break;
  }
  std::string names;
  for (const JsonValue& codec : array.codec_json.items()) {
    names += (names.empty() ? "" : ", ") + TextOf(codec, "name");
  }
  return names;
}

// Precomputed volumes do not list channels with x, y and z.
std::vector<std::uint64_t> Listed(const Array& array, std::vector<std::uint64_t> extents) {
  if (ListsFastestAxisFirst(array.dialect)) std::reverse(extents.begin(), extents.end());
  if (array.dialect == Dialect::kPrecomputed && !extents.empty()) extents.pop_back();
  return extents;
}

}  // namespace

std::string_view DialectName(Dialect dialect) {
  switch (dialect) {
    case Dialect::kPrecomputed:
      return "precomputed";
    case Dialect::kZarr3:
      return "zarr3";
    case Dialect::kZarr2:
      return "zarr2";
    case Dialect::kN5:
      break;
  }
  return "n5";
}

Result<Array> ForVoxels(Result<Array> array) {
  if (array) UNSHARD_RETURN_IF_ERROR(array->voxels);
  return array;
}

Result<Array> ForPassing(Result<Array> array) {
  if (!array || array->voxels) return array;
  const bool passes = array->voxels.error().code == ErrorCode::kNotSupported && array->passable;
  if (!passes) return tl::unexpected<Error>(array->voxels.error());
  return array;
}

std::string ItemTypeName(const Array& array) {
  if (array.item_type.is_string()) return array.item_type.text();
  if (array.item_type.is_object()) return TextOf(array.item_type, "name");
  return array.voxels ? DataTypeName(array.data_type) : array.type_name;
}

Result<ChunkGrid> GridOf(const Array& array) {
  if (array.rectilinear) return *array.rectilinear;
  return ChunkGrid::Make(array.shape, array.chunk_shape, array.origin);
}

void SetGrid(Array& array, const ChunkGrid& grid) {
  array.chunk_shape = grid.chunk_shape();
  array.rectilinear = grid.is_regular() ? std::nullopt : std::optional(grid);
}

bool ListsFastestAxisFirst(Dialect dialect) { return !IsZarr(dialect); }

bool ClipsChunks(Dialect dialect) {
  return dialect == Dialect::kPrecomputed || dialect == Dialect::kN5;
}

std::vector<std::uint64_t> ChunkShapeAt(const Array& array, const ChunkGrid& grid,
                                        std::span<const std::uint64_t> cell) {
  return ClipsChunks(array.dialect) ? grid.ClippedShape(cell) : grid.WholeShape(cell);
}

bool HasAllNames(const Array& array) {
  return array.axis_names.size() == array.rank() &&
         std::all_of(array.axis_names.begin(), array.axis_names.end(),
                     [](const auto& name) { return name.has_value(); });
}

ByteVector FillValueOf(const Array& array) {
  return array.fill_value.value_or(ByteVector(array.data_type.size, 0));
}

ArrayDescription Describe(const Array& array) {
  const bool lower = array.dialect == Dialect::kPrecomputed;
  return {lower ? LowerCase(array.type_name) : array.type_name, EncodingOf(array),
          Listed(array, array.shape),
          array.rectilinear ? std::vector<std::uint64_t>() : Listed(array, array.chunk_shape)};
}

}  // namespace unshard
