#include "codec/schema/new_pyramid.h"

#include <algorithm>
#include <utility>

#include "codec/pyramid/n5_pyramid.h"
#include "codec/pyramid/ome_multiscale.h"
#include "codec/schema/json_reading.h"

namespace unshard {
namespace {

// Lengths are in nanometres; other units, and none, stay. Every level begins at 0.
PyramidGeometry GeometryOf(const NewPyramid& pyramid) {
  PyramidGeometry geometry;
  std::vector<double> finest;
  for (std::size_t i = 0; i < pyramid.labels.size(); ++i) {
    const std::string& label = pyramid.labels[i];
    PyramidAxis axis{label, KindOfAxis(label), ""};
    finest.push_back(1);
    if (i < pyramid.units.size() && pyramid.units[i]) {
      const DimensionUnit& unit = *pyramid.units[i];
      const auto nanometres = Nanometres(unit);
      finest.back() = nanometres.value_or(unit.multiplier);
      axis.unit = nanometres ? "nm" : unit.base;
    }
    geometry.axes.push_back(std::move(axis));
  }
  for (const std::vector<std::int64_t>& factors : pyramid.factors) {
    LevelPosition level{finest, std::vector<double>(finest.size(), 0)};
    for (std::size_t i = 0; i < finest.size(); ++i) {
      level.resolution[i] *= static_cast<double>(factors[i]);
    }
    geometry.levels.push_back(std::move(level));
  }
  return geometry;
}

std::vector<DatasetDocument> ZarrDocuments(ArrayDialect format, NewPyramid pyramid) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < pyramid.levels.size(); ++i) paths.push_back(std::to_string(i));
  JsonValue ome = JsonValue::Object();
  ome.Set("version", JsonValue::String("0.5"));
  ome.Set("multiscales", MultiscalesOf(GeometryOf(pyramid), paths));
  JsonValue attributes = JsonValue::Object();
  attributes.Set("ome", std::move(ome));
  const bool zarr3 = format == ArrayDialect::kZarr3;
  JsonValue group = JsonValue::Object();
  group.Set("zarr_format", IntegerNumber(zarr3 ? 3 : 2));
  std::vector<DatasetDocument> documents;
  if (zarr3) {
    group.Set("node_type", JsonValue::String("group"));
    group.Set("attributes", std::move(attributes));
    documents.push_back({"zarr.json", std::move(group)});
  } else {
    documents.push_back({".zgroup", std::move(group)});
    documents.push_back({".zattrs", AttributesInZarr2(std::move(attributes))});
  }
  for (std::size_t i = 0; i < pyramid.levels.size(); ++i) {
    JsonValue& level = pyramid.levels[i];
    if (!zarr3) level.Set("dimension_separator", JsonValue::String("/"));
    documents.push_back({paths[i] + (zarr3 ? "/zarr.json" : "/.zarray"), std::move(level)});
  }
  return documents;
}

// A schema of N5 has the fastest axis first, its geometry the slowest.
Result<std::vector<DatasetDocument>> N5Documents(NewPyramid pyramid) {
  PyramidGeometry geometry = GeometryOf(pyramid);
  std::reverse(geometry.axes.begin(), geometry.axes.end());
  for (LevelPosition& level : geometry.levels) {
    std::reverse(level.resolution.begin(), level.resolution.end());
  }
  const bool lengths = std::any_of(geometry.axes.begin(), geometry.axes.end(),
                                   [](const PyramidAxis& axis) { return axis.unit == "nm"; });
  if (!lengths) {
    for (PyramidAxis& axis : geometry.axes) axis.unit = "pixel";
  }
  JsonValue group = JsonValue::Object();
  group.Set("n5", JsonValue::String("2.0.0"));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue of_pyramid, N5GroupOf(geometry));
  for (const auto& [name, value] : of_pyramid.members()) group.Set(name, value);
  std::vector<DatasetDocument> documents;
  documents.push_back({"attributes.json", std::move(group)});
  for (std::size_t i = 0; i < pyramid.levels.size(); ++i) {
    JsonValue& level = pyramid.levels[i];
    UNSHARD_ASSIGN_OR_RETURN(const JsonValue members, N5LevelOf(geometry, i));
    for (const auto& [name, value] : members.members()) level.Set(name, value);
    documents.push_back({"s" + std::to_string(i) + "/attributes.json", std::move(level)});
  }
  return documents;
}

}  // namespace

Result<std::vector<DatasetDocument>> PyramidDocuments(ArrayDialect format, NewPyramid pyramid) {
  if (format == ArrayDialect::kN5) return N5Documents(std::move(pyramid));
  return ZarrDocuments(format, std::move(pyramid));
}

}  // namespace unshard
