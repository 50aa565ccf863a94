#include "codec/pyramid/pyramid.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "codec/core/lower_case.h"
#include "codec/core/text.h"
#include "codec/json/number.h"
#include "codec/pyramid/n5_pyramid.h"
#include "codec/pyramid/ome_pyramid.h"

namespace unshard {
namespace {

// The geometry of one array, from its units and its origin.
Result<PyramidGeometry> GeometryOfArray(const Array& array) {
  PyramidGeometry geometry;
  geometry.axes = AxesOf(array);
  LevelPosition level;
  for (std::size_t axis = 0; axis < array.rank(); ++axis) {
    const bool has_unit = axis < array.units.size() && array.units[axis];
    const double resolution = has_unit ? TakeUnit(*array.units[axis], geometry.axes[axis]) : 1;
    level.resolution.push_back(resolution);
    level.corner.push_back(static_cast<double>(array.origin.empty() ? 0 : array.origin[axis]) *
                           resolution);
  }
  geometry.levels.push_back(std::move(level));
  return geometry;
}

Result<PyramidGeometry> GeometryOfScales(const std::vector<PyramidLevel>& levels) {
  PyramidGeometry geometry;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    UNSHARD_ASSIGN_OR_RETURN(PyramidGeometry scale, GeometryOfArray(levels[i].array));
    for (const double resolution : scale.levels.front().resolution) {
      if (resolution > 0) continue;
      return Fail(ErrorCode::kDataLoss, ItemPath("scales", i),
                  ".resolution: expected numbers above 0");
    }
    geometry.axes = std::move(scale.axes);
    geometry.axes.front().name = "c";
    geometry.levels.push_back(std::move(scale.levels.front()));
  }
  return geometry;
}

Result<PyramidGeometry> GeometryOf(const SourceDataset& dataset) {
  switch (dataset.dialect) {
    case Dialect::kPrecomputed:
      return GeometryOfScales(dataset.levels);
    case Dialect::kN5:
      return GeometryOfN5(dataset.attributes, dataset.levels);
    case Dialect::kZarr3:
    case Dialect::kZarr2:
      break;
  }
  if (dataset.kind == SourceDataset::Kind::kArray) {
    return GeometryOfArray(dataset.levels.front().array);
  }
  return GeometryOfOme(OmeOf(dataset.dialect, dataset.attributes), dataset.levels);
}

PyramidAxis::Kind KindOfAxis(const std::string& name) {
  const std::string lower = LowerCase(name);
  if (lower == "x" || lower == "y" || lower == "z") return PyramidAxis::Kind::kSpace;
  if (lower == "c" || lower == "channel") return PyramidAxis::Kind::kChannel;
  if (lower == "t" || lower == "time") return PyramidAxis::Kind::kTime;
  return PyramidAxis::Kind::kOther;
}

}  // namespace

PyramidAxis AxisNamed(std::string name) {
  const PyramidAxis::Kind kind = KindOfAxis(name);
  return {std::move(name), kind, {}};
}

std::vector<PyramidAxis> AxesOf(const Array& array) {
  std::vector<PyramidAxis> axes(array.rank());
  for (std::size_t i = 0; i < std::min(axes.size(), array.axis_names.size()); ++i) {
    axes[i] = AxisNamed(array.axis_names[i].value_or(""));
  }
  return axes;
}

double TakeUnit(const DimensionUnit& voxel, PyramidAxis& axis) {
  const auto nanometres = Nanometres(voxel);
  axis.unit = nanometres ? "nm" : voxel.base;
  return nanometres.value_or(voxel.multiplier);
}

Result<PyramidGeometry> ReadGeometry(const SourceDataset& dataset) {
  if (dataset.levels.empty()) return PyramidGeometry();
  UNSHARD_ASSIGN_OR_RETURN(PyramidGeometry geometry, GeometryOf(dataset));
  // Within these bounds sums and quotients of the numbers are finite.
  constexpr double kLargest = 1e30;
  for (const LevelPosition& level : geometry.levels) {
    for (std::size_t axis = 0; axis < level.resolution.size(); ++axis) {
      const double resolution = level.resolution[axis];
      const bool is_place = resolution > 1 / kLargest && resolution < kLargest &&
                            std::abs(level.corner[axis]) < kLargest;
      if (is_place) continue;
      return Fail(ErrorCode::kNotSupported, "a resolution of ", ShortestDecimal(resolution),
                  " and an offset of ", ShortestDecimal(level.corner[axis]),
                  ": expected numbers between 1e-30 and 1e30");
    }
  }
  return geometry;
}

Result<JsonValue> PyramidAttributes(Dialect dialect, const OmeVersion* version,
                                    const PyramidGeometry& geometry,
                                    const std::vector<std::string>& paths, JsonValue attributes) {
  if (dialect == Dialect::kN5) {
    UNSHARD_ASSIGN_OR_RETURN(const JsonValue group, N5GroupOf(geometry));
    for (const auto& [name, value] : group.members()) attributes.Set(name, value);
    return attributes;
  }
  const bool fits = version != nullptr && version->dialect == dialect;
  const OmeVersion& written = fits ? *version : DefaultOmeVersion(dialect);
  JsonValue ome = TakeOme(dialect, attributes);
  if (ome.is_null()) ome = JsonValue::Object();
  ome.Set("multiscales", MultiscalesOf(geometry, paths, written));
  PutOme(written, std::move(ome), attributes);
  return attributes;
}

bool IsNearlyWhole(double value) {
  // Products and quotients of decimals are some units of the last place off, beyond 2^40 or so more
  // than 1e-6.
  constexpr double kRounding = 8 * std::numeric_limits<double>::epsilon();
  return std::isfinite(value) && std::abs(value) < 9e15 &&
         std::abs(value - std::round(value)) <= std::max(1e-6, kRounding * std::abs(value));
}

Result<std::int64_t> WholeOffset(const LevelPosition& level, std::size_t axis,
                                 std::string_view what) {
  const double voxels = level.corner[axis] / level.resolution[axis];
  if (IsNearlyWhole(voxels)) return static_cast<std::int64_t>(std::llround(voxels));
  return Fail(ErrorCode::kNotSupported, what, ": begins at voxel ", ShortestDecimal(voxels),
              ", but an offset must be a whole number of voxels");
}

JsonValue NumberList(std::span<const double> values) {
  JsonValue list = JsonValue::Array();
  for (const double value : values) {
    list.mutable_items().push_back(NumberJson(value == 0 ? 0 : value));
  }
  return list;
}

std::optional<std::vector<double>> NumbersOf(const JsonValue* value, std::size_t size) {
  if (value == nullptr || !value->is_array() || value->items().size() != size) return std::nullopt;
  std::vector<double> numbers;
  for (const JsonValue& item : value->items()) {
    const auto number = FiniteNumberOf(item);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace unshard
