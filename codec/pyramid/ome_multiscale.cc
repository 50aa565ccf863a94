#include "codec/pyramid/ome_multiscale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace unshard {
namespace {

// The members of attributes that are OME-Zarr's.
constexpr std::array<std::string_view, 8> kOmeMembers = {
    "multiscales", "omero", "labels", "image-label",
    "plate",       "well",  "series", "bioformats2raw.layout"};

// The axes of versions 0.1 and 0.2, which do not list them.
constexpr std::array<std::string_view, 5> kImpliedAxes = {"t", "c", "z", "y", "x"};

// The types of axes.
constexpr std::array<std::pair<PyramidAxis::Kind, std::string_view>, 3> kTypes = {
    {{PyramidAxis::Kind::kSpace, "space"},
     {PyramidAxis::Kind::kChannel, "channel"},
     {PyramidAxis::Kind::kTime, "time"}}};

// An axis as version 0.4 lists it.
JsonValue AxisJson(const PyramidAxis& axis) {
  JsonValue json = JsonValue::Object({{"name", JsonValue::String(axis.name)}});
  for (const auto& [kind, type] : kTypes) {
    if (axis.kind == kind) json.Set("type", JsonValue::String(std::string(type)));
  }
  const std::string& unit = axis.unit == "nm" ? "nanometer" : axis.unit;
  if (!unit.empty()) json.Set("unit", JsonValue::String(unit));
  return json;
}

// The axes of a multiscale of any version as version 0.4 lists them: objects with a name and,
// where the version or the name tells it, a type.
std::vector<JsonValue> AxesOf(const JsonValue& multiscale, std::size_t rank) {
  std::vector<JsonValue> axes;
  const auto add = [&](const std::string& name) { axes.push_back(AxisJson(AxisNamed(name))); };
  if (multiscale.Find("axes") == nullptr && rank == kImpliedAxes.size()) {
    for (const std::string_view name : kImpliedAxes) add(std::string(name));
  }
  for (const JsonValue& axis : ItemsOf(multiscale, "axes")) {
    axis.is_string() ? add(axis.text()) : axes.push_back(axis);  // version 0.3 has names only
  }
  return axes;
}

// How much coarser a level is along an axis than the one before it: most writers halve, and round
// up or down.
std::uint64_t StepBetween(std::uint64_t before, std::uint64_t extent) {
  if (extent == 0 || extent == before) return 1;
  if (extent == before / 2 || extent == before / 2 + before % 2) return 2;
  return std::max<std::uint64_t>((before + extent / 2) / extent, 1);
}

// How much coarser a level is than the first one, by the shapes of the arrays.
std::vector<double> FactorsOfShapes(const std::vector<PyramidLevel>& levels, std::size_t level) {
  std::vector<double> factors(levels.front().array.rank(), 1);
  for (std::size_t i = 1; i <= level; ++i) {
    for (std::size_t axis = 0; axis < factors.size(); ++axis) {
      const auto step = StepBetween(levels[i - 1].array.shape[axis], levels[i].array.shape[axis]);
      factors[axis] *= static_cast<double>(step);
    }
  }
  return factors;
}

struct Transform {
  std::vector<double> scale;
  std::vector<double> translation;
};

// Applies a list of transformations after those in `to`.
Status Apply(const JsonValue& owner, const std::string& name, Transform& to) {
  for (const JsonValue& one : ItemsOf(owner, "coordinateTransformations")) {
    const std::string type = TextOf(one, "type");
    if (type == "identity") continue;
    const auto numbers = NumbersOf(one.Find(type), to.scale.size());
    if ((type != "scale" && type != "translation") || !numbers) {
      return Fail(ErrorCode::kNotSupported, name,
                  ".coordinateTransformations: expected scales and translations with ",
                  to.scale.size(), " numbers");
    }
    for (std::size_t axis = 0; axis < to.scale.size(); ++axis) {
      if (type == "scale") {
        to.scale[axis] *= (*numbers)[axis];
        to.translation[axis] *= (*numbers)[axis];
      } else {
        to.translation[axis] += (*numbers)[axis];
      }
    }
  }
  return {};
}

// Whether all levels have the extent 1 along an axis.
bool IsSingle(const std::vector<PyramidLevel>& levels, std::size_t axis) {
  return std::all_of(levels.begin(), levels.end(), [&](const PyramidLevel& level) {
    return level.array.shape.size() > axis && level.array.shape[axis] == 1;
  });
}

bool HasTransformations(const JsonValue& dataset) {
  return !ItemsOf(dataset, "coordinateTransformations").empty();
}

// The transformation of a level without that of the whole multiscale. Versions before 0.4 have
// none: the shapes of the arrays say how coarse the level is.
Result<Transform> TransformOf(const std::vector<JsonValue>& datasets,
                              const std::vector<PyramidLevel>& levels, std::size_t level) {
  const std::size_t rank = levels.front().array.rank();
  const auto own = [&](std::size_t i) -> Result<Transform> {
    Transform transform{std::vector<double>(rank, 1), std::vector<double>(rank, 0)};
    UNSHARD_RETURN_IF_ERROR(
        Apply(datasets[i], "multiscales[0].datasets[" + std::to_string(i) + "]", transform));
    return transform;
  };
  if (level == 0 || HasTransformations(datasets[level])) return own(level);
  UNSHARD_ASSIGN_OR_RETURN(Transform transform, own(0));
  const std::vector<double> factors = FactorsOfShapes(levels, level);
  for (std::size_t axis = 0; axis < rank; ++axis) transform.scale[axis] *= factors[axis];
  return transform;
}

Result<std::vector<PyramidAxis>> ReadAxes(const JsonValue& multiscale, std::size_t rank,
                                          std::vector<std::string>& warnings) {
  const std::vector<JsonValue> axes = AxesOf(multiscale, rank);
  if (axes.size() != rank) {
    return Fail(ErrorCode::kDataLoss, "multiscales[0].axes: expected ", rank, " axes, found ",
                axes.size());
  }
  std::vector<PyramidAxis> read;
  for (const JsonValue& axis : axes) {
    PyramidAxis made = AxisNamed(TextOf(axis, "name"));
    const std::string type = TextOf(axis, "type");
    for (const auto& [kind, name] : kTypes) {
      if (type == name) made.kind = kind;
    }
    made.unit = TextOf(axis, "unit");
    if (made.kind == PyramidAxis::Kind::kSpace && made.unit.empty()) {
      warnings.push_back("multiscales[0].axes: the axis " + made.name +
                         " has no unit: its numbers are taken as nanometres");
      made.unit = "nanometer";
    }
    read.push_back(std::move(made));
  }
  return read;
}

// Whether every level begins at a whole voxel along all axes of space, where translations are those
// of corners (`shift` 0) or of centres of voxels (1).
bool BeginsAtVoxels(const PyramidGeometry& geometry, double shift) {
  const std::vector<double>& finest = geometry.levels.front().resolution;
  for (const LevelPosition& level : geometry.levels) {
    for (std::size_t axis = 0; axis < finest.size(); ++axis) {
      if (geometry.axes[axis].kind != PyramidAxis::Kind::kSpace) continue;
      const double corner =
          level.corner[axis] + shift * (finest[axis] - level.resolution[axis]) / 2;
      if (!IsNearlyWhole(corner / level.resolution[axis])) return false;
    }
  }
  return true;
}

JsonValue Transformation(const char* type, std::span<const double> numbers) {
  return JsonValue::Object({{"type", JsonValue::String(type)}, {type, NumberList(numbers)}});
}

// Sets the version of each object of OME-Zarr that has one; a null pointer removes it.
void SetVersions(JsonValue& ome, const char* version) {
  const auto set = [&](JsonValue& owner) {
    if (!owner.is_object()) return;
    owner.Erase("version");
    if (version != nullptr) owner.Set("version", JsonValue::String(version));
  };
  for (const char* name : {"image-label", "plate", "well"}) {
    if (JsonValue* member = ome.Find(name)) set(*member);
  }
  JsonValue* multiscales = ome.Find("multiscales");
  if (multiscales == nullptr || !multiscales->is_array()) return;
  for (JsonValue& one : multiscales->mutable_items()) set(one);
}

}  // namespace

JsonValue OmeOf(Dialect dialect, const JsonValue& attributes) {
  if (dialect == Dialect::kZarr3) {
    const JsonValue* ome = attributes.Find("ome");
    return ome != nullptr && ome->is_object() ? *ome : JsonValue();
  }
  for (const std::string_view member : kOmeMembers) {
    const JsonValue* found = attributes.Find(member);
    if (found != nullptr && (found->is_array() || found->is_object() || found->is_number())) {
      return attributes;
    }
  }
  return {};
}

Result<std::vector<std::string>> OmeLevelPaths(const JsonValue& ome) {
  std::vector<std::string> paths;
  const auto& multiscales = ItemsOf(ome, "multiscales");
  if (multiscales.empty()) return paths;
  for (const JsonValue& dataset : ItemsOf(multiscales.front(), "datasets")) {
    paths.push_back(TextOf(dataset, "path"));
    if (!paths.back().empty()) continue;
    return Fail(ErrorCode::kDataLoss, "multiscales[0].datasets: expected objects with a path");
  }
  return paths;
}

std::vector<std::string> OmeAxisNames(const JsonValue& ome, std::size_t rank) {
  std::vector<std::string> names;
  const auto& multiscales = ItemsOf(ome, "multiscales");
  if (multiscales.empty()) return names;
  for (const JsonValue& axis : AxesOf(multiscales.front(), rank)) {
    names.push_back(TextOf(axis, "name"));
  }
  return names;
}

void CompleteMultiscales(const std::vector<PyramidLevel>& levels, JsonValue& ome) {
  JsonValue* multiscales = ome.Find("multiscales");
  if (multiscales == nullptr || !multiscales->is_array() || multiscales->items().empty()) return;
  JsonValue& multiscale = multiscales->mutable_items().front();
  JsonValue* datasets = multiscale.is_object() ? multiscale.Find("datasets") : nullptr;
  if (datasets == nullptr || datasets->items().size() != levels.size() || levels.empty()) return;
  std::vector<JsonValue> axes = AxesOf(multiscale, levels.front().array.rank());
  const JsonValue* listed = multiscale.Find("axes");
  if (!axes.empty() && (listed == nullptr || listed->items() != axes)) {
    multiscale.Set("axes", JsonValue::Array(std::move(axes)));
    datasets = multiscale.Find("datasets");
  }
  const std::vector<JsonValue> before = datasets->items();
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (HasTransformations(before[i]) || !before[i].is_object()) continue;
    const auto transform = TransformOf(before, levels, i);
    if (!transform) return;
    datasets->mutable_items()[i].Set("coordinateTransformations",
                                     JsonValue::Array({Transformation("scale", transform->scale)}));
  }
}

Result<PyramidGeometry> GeometryOfOme(const JsonValue& ome,
                                      const std::vector<PyramidLevel>& levels) {
  const auto& multiscales = ItemsOf(ome, "multiscales");
  if (multiscales.empty() || levels.empty()) {
    return Fail(ErrorCode::kNotSupported, "expected OME-Zarr multiscales");
  }
  const JsonValue& multiscale = multiscales.front();
  const std::size_t rank = levels.front().array.rank();
  PyramidGeometry geometry;
  UNSHARD_ASSIGN_OR_RETURN(geometry.axes, ReadAxes(multiscale, rank, geometry.warnings));
  const auto& datasets = ItemsOf(multiscale, "datasets");
  if (datasets.size() != levels.size()) {
    return Fail(ErrorCode::kDataLoss, "multiscales[0].datasets: expected ", levels.size(),
                " levels, found ", datasets.size());
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::string name = "multiscales[0].datasets[" + std::to_string(i) + "]";
    if (levels[i].array.rank() != rank) {
      return Fail(ErrorCode::kDataLoss, name, ": has another number of axes than the other levels");
    }
    UNSHARD_ASSIGN_OR_RETURN(Transform transform, TransformOf(datasets, levels, i));
    UNSHARD_RETURN_IF_ERROR(Apply(multiscale, "multiscales[0]", transform));
    for (std::size_t axis = 0; axis < rank; ++axis) {
      // Some writers give the time of a single moment the scale 0.
      if (transform.scale[axis] == 0 && IsSingle(levels, axis)) transform.scale[axis] = 1;
      if (!(transform.scale[axis] > 0)) {
        return Fail(ErrorCode::kNotSupported, name, ": expected a scale above 0 along the axis ",
                    geometry.axes[axis].name);
      }
      const auto nanometres = Nanometres({1, geometry.axes[axis].unit});
      if (!nanometres) continue;
      transform.scale[axis] *= *nanometres;
      transform.translation[axis] *= *nanometres;
    }
    geometry.levels.push_back({std::move(transform.scale), std::move(transform.translation)});
  }
  for (PyramidAxis& axis : geometry.axes) {
    if (Nanometres({1, axis.unit})) axis.unit = "nm";
  }
  if (BeginsAtVoxels(geometry, 0)) return geometry;
  if (!BeginsAtVoxels(geometry, 1)) {
    return Fail(ErrorCode::kNotSupported,
                "multiscales[0]: the translations shift the levels by fractions of a voxel, "
                "whether they refer to corners or to centres of voxels");
  }
  const std::vector<double> finest = geometry.levels.front().resolution;
  for (LevelPosition& level : geometry.levels) {
    for (std::size_t axis = 0; axis < rank; ++axis) {
      level.corner[axis] += (finest[axis] - level.resolution[axis]) / 2;
    }
  }
  return geometry;
}

JsonValue MultiscalesOf(const PyramidGeometry& geometry, const std::vector<std::string>& paths) {
  JsonValue axes = JsonValue::Array();
  for (const PyramidAxis& axis : geometry.axes) axes.mutable_items().push_back(AxisJson(axis));
  const std::vector<double>& finest = geometry.levels.front().resolution;
  JsonValue datasets = JsonValue::Array();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const LevelPosition& level = geometry.levels[i];
    std::vector<double> centre;
    for (std::size_t axis = 0; axis < finest.size(); ++axis) {
      centre.push_back(level.corner[axis] + (level.resolution[axis] - finest[axis]) / 2);
    }
    datasets.mutable_items().push_back(
        JsonValue::Object({{"path", JsonValue::String(paths[i])},
                           {"coordinateTransformations",
                            JsonValue::Array({Transformation("scale", level.resolution),
                                              Transformation("translation", centre)})}}));
  }
  return JsonValue::Array(
      {JsonValue::Object({{"axes", std::move(axes)}, {"datasets", std::move(datasets)}})});
}

JsonValue AttributesInZarr2(JsonValue attributes) {
  const JsonValue* found = attributes.Find("ome");
  if (found == nullptr || !found->is_object()) return attributes;
  JsonValue ome = *found;
  attributes.Erase("ome");
  ome.Erase("version");
  SetVersions(ome, "0.4");
  for (auto& [name, value] : ome.mutable_members()) attributes.Set(name, std::move(value));
  return attributes;
}

JsonValue AttributesInZarr3(JsonValue attributes) {
  if (OmeOf(Dialect::kZarr2, attributes).is_null()) return attributes;
  JsonValue ome = JsonValue::Object();
  ome.Set("version", JsonValue::String("0.5"));
  for (const std::string_view member : kOmeMembers) {
    JsonValue* value = attributes.Find(member);
    if (value == nullptr) continue;
    ome.Set(member, std::move(*value));
    attributes.Erase(member);
  }
  SetVersions(ome, nullptr);
  attributes.Set("ome", std::move(ome));
  return attributes;
}

}  // namespace unshard
