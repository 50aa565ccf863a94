#include "codec/pyramid/ome_multiscale.h"

#include <array>
#include <string_view>
#include <utility>

namespace unshard {
namespace {

// The members of attributes that are OME-Zarr's.
constexpr std::array<std::string_view, 8> kOmeMembers = {
    "multiscales", "omero", "labels", "image-label",
    "plate",       "well",  "series", "bioformats2raw.layout"};

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
      return Fail(ErrorCode::kNotSupported,
                  name + ".coordinateTransformations: expected scales and translations with " +
                      std::to_string(to.scale.size()) + " numbers");
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

Result<std::vector<PyramidAxis>> ReadAxes(const JsonValue& multiscale, std::size_t rank,
                                          std::vector<std::string>& warnings) {
  const auto& axes = ItemsOf(multiscale, "axes");
  if (axes.size() != rank) {
    return Fail(ErrorCode::kDataLoss, "multiscales[0].axes: expected " + std::to_string(rank) +
                                          " axes, found " + std::to_string(axes.size()));
  }
  std::vector<PyramidAxis> read;
  for (const JsonValue& axis : axes) {
    // Version 0.3 has names only.
    PyramidAxis made{axis.is_string() ? axis.text() : TextOf(axis, "name"), {}, {}};
    const std::string type = TextOf(axis, "type");
    made.kind = KindOfAxis(made.name);
    if (type == "space") made.kind = PyramidAxis::Kind::kSpace;
    if (type == "channel") made.kind = PyramidAxis::Kind::kChannel;
    if (type == "time") made.kind = PyramidAxis::Kind::kTime;
    made.unit = TextOf(axis, "unit");
    if (made.kind == PyramidAxis::Kind::kSpace && made.unit.empty()) {
      warnings.push_back("multiscales[0].axes: the axis " + made.name +
                         " has no unit: its numbers count as nanometres");
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
  JsonValue made = JsonValue::Object();
  made.Set("type", JsonValue::String(type));
  made.Set(type, NumberList(numbers));
  return made;
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

JsonValue OmeOf(ArrayDialect dialect, const JsonValue& attributes) {
  if (dialect == ArrayDialect::kZarr3) {
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

std::vector<std::string> OmeAxisNames(const JsonValue& ome) {
  std::vector<std::string> names;
  const auto& multiscales = ItemsOf(ome, "multiscales");
  if (multiscales.empty()) return names;
  for (const JsonValue& axis : ItemsOf(multiscales.front(), "axes")) {
    names.push_back(axis.is_string() ? axis.text() : TextOf(axis, "name"));
  }
  return names;
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
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::string name = "multiscales[0].datasets[" + std::to_string(i) + "]";
    if (levels[i].array.rank() != rank) {
      return Fail(ErrorCode::kDataLoss, name + ": expected an array of as many axes as the others");
    }
    Transform transform{std::vector<double>(rank, 1), std::vector<double>(rank, 0)};
    UNSHARD_RETURN_IF_ERROR(Apply(datasets[i], name, transform));
    UNSHARD_RETURN_IF_ERROR(Apply(multiscale, "multiscales[0]", transform));
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (!(transform.scale[axis] > 0)) {
        return Fail(ErrorCode::kNotSupported,
                    name + ": expected a scale above 0 along the axis " + geometry.axes[axis].name);
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
                "multiscales[0]: the translations are neither those of corners nor those of "
                "centres of voxels on whole voxels");
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
  for (const PyramidAxis& axis : geometry.axes) {
    JsonValue made = JsonValue::Object();
    made.Set("name", JsonValue::String(axis.name));
    if (axis.kind == PyramidAxis::Kind::kSpace) made.Set("type", JsonValue::String("space"));
    if (axis.kind == PyramidAxis::Kind::kChannel) made.Set("type", JsonValue::String("channel"));
    if (axis.kind == PyramidAxis::Kind::kTime) made.Set("type", JsonValue::String("time"));
    if (axis.unit == "nm") {
      made.Set("unit", JsonValue::String("nanometer"));
    } else if (!axis.unit.empty()) {
      made.Set("unit", JsonValue::String(axis.unit));
    }
    axes.mutable_items().push_back(std::move(made));
  }
  const std::vector<double>& finest = geometry.levels.front().resolution;
  JsonValue datasets = JsonValue::Array();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const LevelPosition& level = geometry.levels[i];
    std::vector<double> centre;
    for (std::size_t axis = 0; axis < finest.size(); ++axis) {
      centre.push_back(level.corner[axis] + (level.resolution[axis] - finest[axis]) / 2);
    }
    JsonValue dataset = JsonValue::Object();
    dataset.Set("path", JsonValue::String(paths[i]));
    dataset.Set("coordinateTransformations",
                JsonValue::Array({Transformation("scale", level.resolution),
                                  Transformation("translation", centre)}));
    datasets.mutable_items().push_back(std::move(dataset));
  }
  JsonValue multiscale = JsonValue::Object();
  multiscale.Set("axes", std::move(axes));
  multiscale.Set("datasets", std::move(datasets));
  return JsonValue::Array({std::move(multiscale)});
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
  if (OmeOf(ArrayDialect::kZarr2, attributes).is_null()) return attributes;
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
