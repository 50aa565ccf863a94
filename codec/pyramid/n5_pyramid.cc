#include "codec/pyramid/n5_pyramid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "codec/core/text.h"
#include "codec/n5/dataset.h"

namespace unshard {
namespace {

// Of groups and levels of pyramids, beside those of every dataset.
constexpr std::array kPyramidMembers = {
    "n5",     "codecs",          "multiScale", "downsamplingFactors", "scales",
    "offset", "pixelResolution", "transform",  "multiscales"};

// A list of N5 with a number for each of `rank` axes, slowest first. `name`: for messages.
Result<std::vector<double>> NumbersAt(const JsonValue& list, std::size_t rank,
                                      const std::string& name) {
  auto numbers = NumbersOf(&list, rank);
  if (numbers) return ReversedAxes(*std::move(numbers));
  return Fail(ErrorCode::kDataLoss, name, ": expected ", rank, " numbers");
}

// The factors of a level relative to the first one, slowest first; nothing where no document has
// them.
Result<std::optional<std::vector<double>>> FactorsOf(const JsonValue& group, const Array& array,
                                                     std::size_t level) {
  if (const JsonValue* own = array.attributes.Find("downsamplingFactors")) {
    return NumbersAt(*own, array.rank(), "s" + std::to_string(level) + ": downsamplingFactors");
  }
  for (const char* name : {"downsamplingFactors", "scales"}) {
    const auto& lists = ItemsOf(group, name);
    if (level < lists.size()) return NumbersAt(lists[level], array.rank(), ItemPath(name, level));
  }
  return std::nullopt;
}

struct Pixel {
  std::vector<double> size;  // slowest first
  std::string unit;
};

// The size of a voxel of the first level (n5-viewer).
std::optional<Pixel> PixelOf(const JsonValue& attributes, std::size_t rank) {
  const JsonValue* pixel = attributes.Find("pixelResolution");
  if (pixel == nullptr) return std::nullopt;
  const bool list = pixel->is_array();
  auto size = NumbersOf(list ? pixel : pixel->Find("dimensions"), rank);
  if (!size) return std::nullopt;
  const std::string unit = list ? std::string() : TextOf(*pixel, "unit");
  return Pixel{ReversedAxes(*std::move(size)), unit.empty() ? "nm" : unit};
}

// What COSEM's `transform` of a level says, slowest axis first: `translate` is where the centre of
// the first voxel is.
struct CosemTransform {
  std::vector<std::string> axes;
  std::vector<double> scale, translate;
  DimensionUnits units;
};

// Nothing where `owner` has none, or an attribute of another form by this name.
std::optional<CosemTransform> TransformIn(const JsonValue& owner, std::size_t rank) {
  const JsonValue* const json = owner.Find("transform");
  if (json == nullptr || !json->is_object()) return std::nullopt;
  auto scale = NumbersOf(json->Find("scale"), rank);
  auto translate = NumbersOf(json->Find("translate"), rank);
  const auto& names = ItemsOf(*json, "axes");
  const JsonValue* const units = json->Find("units");
  auto parsed = units != nullptr ? ParseUnitTexts(JsonCursor(*units, ""), rank)
                                 : tl::unexpected<Error>(Error{});
  if (!scale || !translate || names.size() != rank || !parsed) return std::nullopt;
  CosemTransform transform{{}, *std::move(scale), *std::move(translate), *std::move(parsed)};
  for (const JsonValue& name : names) {
    if (!name.is_string()) return std::nullopt;
    transform.axes.push_back(name.text());
  }
  // Both names are in use.
  if (TextOf(*json, "order") != "F" && TextOf(*json, "ordering") != "F") return transform;
  return CosemTransform{ReversedAxes(transform.axes), ReversedAxes(transform.scale),
                        ReversedAxes(transform.translate), ReversedAxes(transform.units)};
}

// That of the level itself, or of its group.
std::optional<CosemTransform> TransformOf(const JsonValue& group, const PyramidLevel& level) {
  if (auto own = TransformIn(level.array.attributes, level.array.rank())) return own;
  for (const JsonValue& multiscale : ItemsOf(group, "multiscales")) {
    for (const JsonValue& dataset : ItemsOf(multiscale, "datasets")) {
      if (TextOf(dataset, "path") == level.path) return TransformIn(dataset, level.array.rank());
    }
  }
  return std::nullopt;
}

// Axes without a name have that of COSEM's transform, or of the convention.
std::vector<PyramidAxis> NamedAxesOf(const JsonValue& group, const PyramidLevel& level) {
  const Array& array = level.array;
  const auto transform = TransformOf(group, level);
  static constexpr std::array<const char*, 5> kByConvention = {"x", "y", "z", "c", "t"};
  std::vector<PyramidAxis> axes = AxesOf(array);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (i < array.axis_names.size() && array.axis_names[i]) continue;
    const std::size_t from_fastest = axes.size() - 1 - i;
    if (transform) {
      axes[i] = AxisNamed(transform->axes[i]);
      continue;
    }
    axes[i] = AxisNamed(from_fastest < kByConvention.size() ? kByConvention[from_fastest]
                                                            : "dim" + std::to_string(from_fastest));
  }
  return axes;
}

// Its corner is still that of the centre of the first voxel.
Result<LevelPosition> PositionBy(const CosemTransform& transform, const std::string& name,
                                 std::vector<PyramidAxis>& axes) {
  LevelPosition position;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const double unit =
        TakeUnit({1, transform.units[axis].value_or(DimensionUnit{}).base}, axes[axis]);
    position.resolution.push_back(transform.scale[axis] * unit);
    position.corner.push_back(transform.translate[axis] * unit);
    if (position.resolution.back() > 0) continue;
    return Fail(ErrorCode::kDataLoss, name, "transform: expected a scale above 0");
  }
  return position;
}

// COSEM's transform says all; else the resolution of a level is `pixelResolution` times its
// factors, else its own `resolution` (TensorStore), else its factors in nanometres.
Result<LevelPosition> PositionOf(const JsonValue& group, const std::vector<PyramidLevel>& levels,
                                 std::size_t level, PyramidGeometry& geometry) {
  const Array& array = levels[level].array;
  const std::size_t rank = array.rank();
  LevelPosition position;
  const std::string name = levels[level].path.empty() ? "" : levels[level].path + ": ";
  if (const auto transform = TransformOf(group, levels[level])) {
    UNSHARD_ASSIGN_OR_RETURN(position, PositionBy(*transform, name, geometry.axes));
    const auto& finest = level == 0 ? position.resolution : geometry.levels[0].resolution;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      position.corner[axis] += (finest[axis] - position.resolution[axis]) / 2;
    }
    return position;
  }
  position.corner.resize(rank);
  if (const JsonValue* offset = array.attributes.Find("offset")) {
    UNSHARD_ASSIGN_OR_RETURN(position.corner, NumbersAt(*offset, rank, name + "offset"));
  }
  auto pixel = PixelOf(array.attributes, rank);
  if (!pixel) pixel = PixelOf(group, rank);
  const bool own =
      array.units.size() == rank && std::any_of(array.units.begin(), array.units.end(),
                                                [](const auto& unit) { return unit.has_value(); });
  UNSHARD_ASSIGN_OR_RETURN(auto factors, FactorsOf(group, array, level));
  if (!factors) {
    factors.emplace(rank, 1.0);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (geometry.axes[axis].kind != PyramidAxis::Kind::kSpace) continue;
      (*factors)[axis] = std::ldexp(1.0, static_cast<int>(std::min<std::size_t>(level, 60)));
    }
  }
  for (std::size_t axis = 0; axis < rank; ++axis) {
    DimensionUnit unit{1, ""};
    if (pixel) {
      unit = {pixel->size[axis] * (*factors)[axis], pixel->unit};
    } else if (own) {
      unit = array.units[axis].value_or(unit);
    } else if (geometry.axes[axis].kind == PyramidAxis::Kind::kSpace) {
      unit = {(*factors)[axis], "nm"};
    }
    const bool is_space = geometry.axes[axis].kind == PyramidAxis::Kind::kSpace;
    const auto nanometres = is_space || !pixel ? Nanometres(unit) : std::nullopt;
    if (!pixel && !own && is_space && level == 0 && axis + 1 == rank) {
      geometry.warnings.push_back("no resolution: a voxel is taken to be 1 nm wide");
    }
    position.resolution.push_back(nanometres.value_or(unit.multiplier));
    if (!(position.resolution.back() > 0)) {
      return Fail(ErrorCode::kDataLoss, name, "expected a resolution above 0");
    }
    if (level == 0 && (is_space || !pixel)) {
      geometry.axes[axis].unit = nanometres ? "nm" : unit.base;
    }
  }
  return position;
}

// The factors of a level relative to the first one, fastest axis first.
Result<std::vector<double>> FactorsFor(const PyramidGeometry& geometry, std::size_t level) {
  std::vector<double> factors;
  for (std::size_t axis = geometry.axes.size(); axis-- > 0;) {
    const double factor =
        geometry.levels[level].resolution[axis] / geometry.levels.front().resolution[axis];
    if (!IsNearlyWhole(factor) || factor < 0.5) {
      return Fail(ErrorCode::kNotSupported, "level ", level, " is ", ShortestDecimal(factor),
                  " times as coarse as level 0 along ", geometry.axes[axis].name,
                  ", but downsamplingFactors must be whole numbers");
    }
    factors.push_back(std::round(factor));
  }
  return factors;
}

JsonValue PixelResolutionOf(const PyramidGeometry& geometry) {
  std::string unit;
  for (const PyramidAxis& axis : geometry.axes) {
    if (axis.kind == PyramidAxis::Kind::kSpace || unit.empty()) unit = axis.unit;
  }
  return JsonValue::Object(
      {{"unit", JsonValue::String(unit.empty() ? "nm" : unit)},
       {"dimensions", NumberList(ReversedAxes(geometry.levels.front().resolution))}});
}

}  // namespace

Result<PyramidGeometry> GeometryOfN5(const JsonValue& attributes,
                                     const std::vector<PyramidLevel>& levels) {
  PyramidGeometry geometry;
  if (levels.empty()) return geometry;
  geometry.axes = NamedAxesOf(attributes, levels.front());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i].array.rank() != geometry.axes.size()) {
      return Fail(ErrorCode::kDataLoss, levels[i].path,
                  ": has another number of axes than the other levels");
    }
    UNSHARD_ASSIGN_OR_RETURN(auto position, PositionOf(attributes, levels, i, geometry));
    geometry.levels.push_back(std::move(position));
  }
  return geometry;
}

Result<JsonValue> N5GroupOf(const PyramidGeometry& geometry) {
  JsonValue lists = JsonValue::Array();
  for (std::size_t i = 0; i < geometry.levels.size(); ++i) {
    UNSHARD_ASSIGN_OR_RETURN(const auto factors, FactorsFor(geometry, i));
    lists.mutable_items().push_back(NumberList(factors));
  }
  return JsonValue::Object({{"downsamplingFactors", lists},
                            {"scales", lists},
                            {"pixelResolution", PixelResolutionOf(geometry)},
                            {"multiScale", JsonValue::Boolean(true)}});
}

Result<JsonValue> N5LevelOf(const PyramidGeometry& geometry, std::size_t level) {
  UNSHARD_ASSIGN_OR_RETURN(const auto factors, FactorsFor(geometry, level));
  return JsonValue::Object({{"downsamplingFactors", NumberList(factors)},
                            {"pixelResolution", PixelResolutionOf(geometry)},
                            {"offset", NumberList(ReversedAxes(geometry.levels[level].corner))}});
}

void SetN5Version(JsonValue& attributes) {
  if (attributes.Find("n5") != nullptr) return;
  attributes.Set("n5", JsonValue::String("2.0.0"));
  auto& members = attributes.mutable_members();
  std::rotate(members.begin(), members.end() - 1, members.end());
}

void EraseN5Members(JsonValue& attributes) {
  for (const char* member : kN5DatasetMembers) attributes.Erase(member);
  for (const char* member : kPyramidMembers) attributes.Erase(member);
}

}  // namespace unshard
