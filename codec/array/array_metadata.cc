#include "codec/array/array_metadata.h"

#include <algorithm>
#include <utility>

#include "codec/core/lower_case.h"

namespace unshard {
namespace {

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
