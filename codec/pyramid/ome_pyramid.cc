#include "codec/pyramid/ome_pyramid.h"

#include <algorithm>
#include <utility>

#include "codec/pyramid/ome_axes.h"

namespace unshard {
namespace {

Result<JsonCursor> FirstMultiscale(const JsonValue& ome) {
  const auto& multiscales = ItemsOf(ome, "multiscales");
  if (!multiscales.empty()) return JsonCursor(multiscales.front(), "multiscales[0]");
  return Fail(ErrorCode::kNotSupported, "expected OME-Zarr multiscales");
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

// Makes corners of the translations of centres.
Status FindCorners(PyramidGeometry& geometry) {
  if (BeginsAtVoxels(geometry, 0)) return {};
  if (!BeginsAtVoxels(geometry, 1)) {
    return Fail(ErrorCode::kNotSupported,
                "multiscales[0]: the translations shift the levels by fractions of a voxel, "
                "whether they refer to corners or to centres of voxels");
  }
  const std::vector<double> finest = geometry.levels.front().resolution;
  for (LevelPosition& level : geometry.levels) {
    for (std::size_t axis = 0; axis < finest.size(); ++axis) {
      level.corner[axis] += (finest[axis] - level.resolution[axis]) / 2;
    }
  }
  return {};
}

// Lengths without a unit are nanometres.
std::vector<PyramidAxis> AxesWithUnits(const OmeMultiscale& image,
                                       std::vector<std::string>& warnings) {
  std::vector<PyramidAxis> axes;
  for (const JsonValue& json : image.axes) {
    PyramidAxis& axis = axes.emplace_back(PyramidAxisOf(json));
    if (axis.kind != PyramidAxis::Kind::kSpace || !axis.unit.empty()) continue;
    warnings.push_back("multiscales[0].axes: the axis " + axis.name +
                       " has no unit: its numbers are taken as nanometres");
    axis.unit = "nanometer";
  }
  return axes;
}

OmeTransform Then(OmeTransform first, const std::optional<OmeTransform>& second) {
  for (std::size_t axis = 0; second && axis < first.rank(); ++axis) {
    first.scale[axis] *= second->scale[axis];
    first.translation[axis] =
        first.translation[axis] * second->scale[axis] + second->translation[axis];
  }
  return first;
}

}  // namespace

Result<std::vector<std::string>> OmeLevelPaths(const JsonValue& ome) {
  std::vector<std::string> paths;
  const auto multiscale = FirstMultiscale(ome);
  if (!multiscale) return paths;
  const auto& datasets = ItemsOf(multiscale->value(), "datasets");
  for (const std::size_t dataset : OmeLevelOrder(*multiscale)) {
    paths.push_back(TextOf(datasets[dataset], "path"));
    if (!paths.back().empty()) continue;
    return Fail(ErrorCode::kDataLoss, "multiscales[0].datasets: expected objects with a path");
  }
  return paths;
}

Result<OmeMultiscale> ReadOmeImage(const JsonValue& ome, const std::vector<PyramidLevel>& levels) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor multiscale, FirstMultiscale(ome));
  std::vector<std::vector<std::uint64_t>> shapes;
  for (const PyramidLevel& level : levels) shapes.push_back(level.array.shape);
  return ReadOmeMultiscale(multiscale, shapes);
}

Result<std::vector<PyramidAxis>> OmeAxesOf(const JsonValue& ome, std::size_t rank) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor multiscale, FirstMultiscale(ome));
  UNSHARD_ASSIGN_OR_RETURN(const OmeAxes found, AxesOfOme(multiscale, rank));
  std::vector<PyramidAxis> axes;
  for (const JsonValue& axis : found.axes) axes.push_back(PyramidAxisOf(axis));
  return axes;
}

Result<PyramidGeometry> GeometryOfOme(const JsonValue& ome,
                                      const std::vector<PyramidLevel>& levels) {
  if (levels.empty()) return Fail(ErrorCode::kNotSupported, "expected OME-Zarr multiscales");
  UNSHARD_ASSIGN_OR_RETURN(OmeMultiscale image, ReadOmeImage(ome, levels));
  PyramidGeometry geometry;
  geometry.warnings = std::move(image.warnings);
  geometry.axes = AxesWithUnits(image, geometry.warnings);
  for (OmeMultiscale::Level& level : image.levels) {
    OmeTransform transform = Then(std::move(level.transform), image.of_all);
    for (std::size_t axis = 0; axis < transform.rank(); ++axis) {
      if (!(transform.scale[axis] > 0)) {
        return Fail(ErrorCode::kNotSupported, "multiscales[0].coordinateTransformations",
                    ": expected a scale above 0 along the axis ", geometry.axes[axis].name);
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
  UNSHARD_RETURN_IF_ERROR(FindCorners(geometry));
  return geometry;
}

JsonValue MultiscalesOf(const PyramidGeometry& geometry, const std::vector<std::string>& paths,
                        const OmeVersion& version) {
  OmeMultiscale image;
  for (const PyramidAxis& axis : geometry.axes) image.axes.push_back(OmeAxisJson(axis));
  const std::vector<double>& finest = geometry.levels.front().resolution;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const LevelPosition& level = geometry.levels[i];
    OmeTransform transform{level.resolution, level.corner, version.shape == OmeShape::kAxes};
    for (std::size_t axis = 0; axis < finest.size(); ++axis) {
      transform.translation[axis] += (level.resolution[axis] - finest[axis]) / 2;
      transform.states_translation |= transform.translation[axis] != 0;
    }
    image.levels.push_back({paths[i], i, std::move(transform)});
  }
  JsonValue multiscale = JsonValue::Object();
  std::vector<std::string> none;
  WriteOmeMultiscale(image, version, "multiscales[0]", multiscale, none);
  return JsonValue::Array({std::move(multiscale)});
}

}  // namespace unshard
