#include "codec/pyramid/array_view.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "codec/pyramid/chunk_mapping.h"
#include "codec/pyramid/missing_values.h"
#include "codec/pyramid/n5_pyramid.h"

namespace unshard {
namespace {

// The type in the format `to`; bool becomes uint8 where the format has no bool.
Result<DataType> TypeIn(Dialect to, const Array& stored) {
  const DataType& type = stored.data_type;
  if (IsZarr(to)) return type;
  DataType presented = type;
  if (type.kind == DataType::Kind::kBool) presented.kind = DataType::Kind::kUnsigned;
  const DataTypeNames* const names = FindDataTypeNames(presented);
  const auto dialect = to == Dialect::kN5 ? DataTypeDialect::kN5 : DataTypeDialect::kNewVolume;
  const bool is_number = stored.item_type.is_null();
  if (is_number && names != nullptr && names->IsIn(dialect)) return presented;
  return Fail(ErrorCode::kNotSupported, DialectName(to), " has no data type like ",
              ItemTypeName(stored));
}

// In a pyramid all axes are named, because readers identify them by name.
std::vector<std::optional<std::string>> NamesIn(Dialect to, const SourceDataset& dataset,
                                                const PyramidGeometry& geometry,
                                                const PresentedArray& array) {
  const bool named = dataset.kind == SourceDataset::Kind::kPyramid ||
                     !array.stored.axis_names.empty() || to == Dialect::kPrecomputed;
  if (!named) return {};
  std::vector<std::optional<std::string>> names;
  for (const auto& axis : array.axes) {
    const std::string name = axis ? geometry.axes[*axis].name : std::string();
    names.push_back(name.empty() ? std::nullopt : std::optional(name));
  }
  return names;
}

// The units of a single array are those of the source. In a pyramid only N5 and volumes have units
// in each level; those of volumes are nm.
DimensionUnits UnitsIn(Dialect to, const SourceDataset& dataset, const PyramidGeometry& geometry,
                       std::size_t level, const PresentedArray& array) {
  const bool pyramid = dataset.kind == SourceDataset::Kind::kPyramid;
  DimensionUnits units;
  if (to == Dialect::kPrecomputed) {
    for (const double nm : MapList(array.axes, geometry.levels[level].resolution, 1.0)) {
      units.push_back(DimensionUnit{nm, "nm"});
    }
    return units;
  }
  if (!pyramid && array.stored.units.empty()) return {};
  if (pyramid && to != Dialect::kN5) return {};
  for (const auto& axis : array.axes) {
    if (!axis || (pyramid && geometry.axes[*axis].unit.empty())) {
      units.emplace_back();
    } else if (!pyramid) {
      units.push_back(array.stored.units[*axis]);
    } else {
      units.push_back(
          DimensionUnit{geometry.levels[level].resolution[*axis], geometry.axes[*axis].unit});
    }
  }
  return units;
}

Result<std::vector<std::int64_t>> OriginIn(Dialect to, const PyramidGeometry& geometry,
                                           std::size_t level, const AxisMap& axes) {
  std::vector<std::int64_t> origin(axes.size(), 0);
  if (to != Dialect::kPrecomputed) return origin;
  for (std::size_t axis = 1; axis < axes.size(); ++axis) {
    if (!axes[axis]) continue;
    const std::string what =
        "level " + std::to_string(level) + ", axis " + geometry.axes[*axes[axis]].name;
    UNSHARD_ASSIGN_OR_RETURN(origin[axis], WholeOffset(geometry.levels[level], *axes[axis], what));
  }
  return origin;
}

JsonValue AttributesIn(Dialect to, const Array& stored) {
  if (to == Dialect::kPrecomputed || stored.dialect == Dialect::kPrecomputed) {
    return JsonValue::Object();
  }
  JsonValue attributes = stored.attributes;
  const bool n5 = stored.dialect == Dialect::kN5 || to == Dialect::kN5;
  if (n5) EraseN5Members(attributes);
  return attributes;
}

// A chunk of a view is made of whole stored chunks, a copy has chunks as large as the largest.
std::vector<std::uint64_t> ChunksIn(const Array& stored, bool of_copy) {
  std::vector<std::uint64_t> shape = stored.chunk_shape;
  for (std::size_t axis = 0; stored.rectilinear && !of_copy && axis < shape.size(); ++axis) {
    shape[axis] = stored.rectilinear->axis(axis)
                      .RegularUnion(kMostStoredChunks)
                      .value_or(std::max<std::uint64_t>(stored.shape[axis], 1));
  }
  return shape;
}

// The chunk keys of views have one directory for each dimension.
ChunkKeyEncoding KeysIn(Dialect to) {
  const bool v2 = to != Dialect::kZarr3;
  return {v2 ? ChunkKeyEncoding::Kind::kV2 : ChunkKeyEncoding::Kind::kDefault, '/'};
}

}  // namespace

Result<PresentedArray> PresentArray(const SourceDataset& dataset, const PyramidGeometry& geometry,
                                    std::size_t level, Dialect to, const ViewOptions& options) {
  const Array& stored = dataset.levels[level].array;
  UNSHARD_RETURN_IF_ERROR(stored.voxels);
  PresentedArray array;
  array.stored = stored;
  UNSHARD_ASSIGN_OR_RETURN(array.axes, MapAxes(geometry.axes, stored.shape, stored.dialect, to));
  Array& presented = array.presented;
  presented.dialect = to;
  UNSHARD_ASSIGN_OR_RETURN(presented.data_type, TypeIn(to, stored));
  presented.item_type = stored.item_type;
  presented.shape = MapList<std::uint64_t>(array.axes, stored.shape, 1);
  presented.chunk_shape = MapList<std::uint64_t>(array.axes, ChunksIn(stored, options.of_copy), 1);
  // A chunk of a volume has all channels, in however many chunks they are stored.
  if (to == Dialect::kPrecomputed) {
    if (presented.shape[0] == 0) {
      return Fail(ErrorCode::kNotSupported, "a precomputed volume needs at least one channel");
    }
    presented.chunk_shape[0] = presented.shape[0];
  }
  UNSHARD_ASSIGN_OR_RETURN(presented.origin, OriginIn(to, geometry, level, array.axes));
  presented.axis_names = NamesIn(to, dataset, geometry, array);
  presented.units = UnitsIn(to, dataset, geometry, level, array);
  if (IsZarr(to)) presented.fill_value = FillValueOf(stored);
  presented.key_encoding = KeysIn(to);
  presented.attributes = AttributesIn(to, stored);
  CarryMissingValue(stored, dataset.kind == SourceDataset::Kind::kPyramid, presented);
  const ChainSpec compression =
      options.of_copy ? CompressionOfCopy(stored, to) : options.compression;
  UNSHARD_RETURN_IF_ERROR(PlanBlocks(stored, array.axes, compression, presented));
  return array;
}

Result<PresentedArray> PresentUnsharded(const Array& stored, const ViewOptions& options) {
  PresentedArray array{stored, stored, SameAxes(stored.rank())};
  Array& presented = array.presented;
  presented.shard_shape.reset();
  presented.sharding = JsonValue();
  if (options.of_copy || options.keeps_chunks) return array;
  UNSHARD_RETURN_IF_ERROR(stored.voxels);
  UNSHARD_RETURN_IF_ERROR(PlanRawBlocks(stored, presented));
  return array;
}

}  // namespace unshard
