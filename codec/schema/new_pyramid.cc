#include "codec/schema/new_pyramid.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "codec/schema/json_reading.h"

namespace unshard {
namespace {

JsonValue Numbers(const std::vector<double>& values) {
  std::vector<JsonValue> items;
  for (const double value : values) items.push_back(DoubleNumber(value));
  return JsonValue::Array(std::move(items));
}

// Lengths are in nanometres; other units, and none, stay.
struct AxisUnit {
  double resolution = 1;
  std::string unit;  // "nm", another base, or "": none
};

AxisUnit UnitOf(const NewPyramid& pyramid, std::size_t i) {
  if (i >= pyramid.units.size() || !pyramid.units[i]) return {};
  const DimensionUnit& unit = *pyramid.units[i];
  const auto nanometres = Nanometres(unit);
  return nanometres ? AxisUnit{*nanometres, "nm"} : AxisUnit{unit.multiplier, unit.base};
}

std::vector<double> ResolutionOf(const NewPyramid& pyramid, std::size_t level) {
  std::vector<double> resolution;
  for (std::size_t i = 0; i < pyramid.labels.size(); ++i) {
    resolution.push_back(UnitOf(pyramid, i).resolution *
                         static_cast<double>(pyramid.factors[level][i]));
  }
  return resolution;
}

// --- OME-Zarr

std::string_view KindOf(const std::string& label) {
  if (label == "x" || label == "y" || label == "z") return "space";
  if (label == "c" || label == "channel") return "channel";
  return label == "t" || label == "time" ? "time" : "";
}

JsonValue AxesOf(const NewPyramid& pyramid) {
  std::vector<JsonValue> axes;
  for (std::size_t i = 0; i < pyramid.labels.size(); ++i) {
    JsonValue axis = JsonValue::Object();
    axis.Set("name", JsonValue::String(pyramid.labels[i]));
    const std::string_view kind = KindOf(pyramid.labels[i]);
    if (!kind.empty()) axis.Set("type", JsonValue::String(std::string(kind)));
    const std::string unit = UnitOf(pyramid, i).unit;
    if (!unit.empty()) axis.Set("unit", JsonValue::String(unit == "nm" ? "nanometer" : unit));
    axes.push_back(std::move(axis));
  }
  return JsonValue::Array(std::move(axes));
}

JsonValue Transformation(const char* type, const std::vector<double>& values) {
  JsonValue transformation = JsonValue::Object();
  transformation.Set("type", JsonValue::String(type));
  transformation.Set(type, Numbers(values));
  return transformation;
}

// Coordinates are those of the centres of voxels: the first one of a coarser level lies further in.
JsonValue Multiscale(const NewPyramid& pyramid) {
  const std::vector<double> finest = ResolutionOf(pyramid, 0);
  std::vector<JsonValue> datasets;
  for (std::size_t level = 0; level < pyramid.levels.size(); ++level) {
    const std::vector<double> scale = ResolutionOf(pyramid, level);
    std::vector<double> translation;
    for (std::size_t i = 0; i < scale.size(); ++i)
      translation.push_back((scale[i] - finest[i]) / 2);
    JsonValue dataset = JsonValue::Object();
    dataset.Set("path", JsonValue::String(std::to_string(level)));
    dataset.Set("coordinateTransformations",
                JsonValue::Array(
                    {Transformation("scale", scale), Transformation("translation", translation)}));
    datasets.push_back(std::move(dataset));
  }
  JsonValue multiscale = JsonValue::Object();
  multiscale.Set("axes", AxesOf(pyramid));
  multiscale.Set("datasets", JsonValue::Array(std::move(datasets)));
  return multiscale;
}

std::vector<DatasetDocument> Zarr3Documents(NewPyramid pyramid) {
  JsonValue ome = JsonValue::Object();
  ome.Set("version", JsonValue::String("0.5"));
  ome.Set("multiscales", JsonValue::Array({Multiscale(pyramid)}));
  JsonValue attributes = JsonValue::Object();
  attributes.Set("ome", std::move(ome));
  JsonValue group = JsonValue::Object();
  group.Set("zarr_format", IntegerNumber(3));
  group.Set("node_type", JsonValue::String("group"));
  group.Set("attributes", std::move(attributes));
  std::vector<DatasetDocument> documents;
  documents.push_back({"zarr.json", std::move(group)});
  for (std::size_t i = 0; i < pyramid.levels.size(); ++i) {
    documents.push_back({std::to_string(i) + "/zarr.json", std::move(pyramid.levels[i])});
  }
  return documents;
}

std::vector<DatasetDocument> Zarr2Documents(NewPyramid pyramid) {
  JsonValue multiscale = Multiscale(pyramid);
  multiscale.Set("version", JsonValue::String("0.4"));
  JsonValue attributes = JsonValue::Object();
  attributes.Set("multiscales", JsonValue::Array({std::move(multiscale)}));
  JsonValue group = JsonValue::Object();
  group.Set("zarr_format", IntegerNumber(2));
  std::vector<DatasetDocument> documents;
  documents.push_back({".zgroup", std::move(group)});
  documents.push_back({".zattrs", std::move(attributes)});
  for (std::size_t i = 0; i < pyramid.levels.size(); ++i) {
    pyramid.levels[i].Set("dimension_separator", JsonValue::String("/"));
    documents.push_back({std::to_string(i) + "/.zarray", std::move(pyramid.levels[i])});
  }
  return documents;
}

// --- N5

// Readers multiply `pixelResolution`, which is that of s0 everywhere, by the factors of a level.
std::vector<DatasetDocument> N5Documents(NewPyramid pyramid) {
  JsonValue resolution = JsonValue::Object();
  const bool lengths = std::any_of(pyramid.units.begin(), pyramid.units.end(),
                                   [](const auto& unit) { return unit && Nanometres(*unit); });
  resolution.Set("unit", JsonValue::String(lengths ? "nm" : "pixel"));
  resolution.Set("dimensions", Numbers(ResolutionOf(pyramid, 0)));
  std::vector<JsonValue> factors;
  for (const auto& of_level : pyramid.factors) factors.push_back(IntegerArray(of_level));
  JsonValue group = JsonValue::Object();
  group.Set("n5", JsonValue::String("2.0.0"));
  group.Set("downsamplingFactors", JsonValue::Array(factors));
  group.Set("scales", JsonValue::Array(factors));
  group.Set("pixelResolution", resolution);
  group.Set("multiScale", JsonValue::Boolean(true));
  std::vector<DatasetDocument> documents;
  documents.push_back({"attributes.json", std::move(group)});
  for (std::size_t i = 0; i < pyramid.levels.size(); ++i) {
    JsonValue& level = pyramid.levels[i];
    level.Set("downsamplingFactors", factors[i]);
    level.Set("pixelResolution", resolution);
    documents.push_back({"s" + std::to_string(i) + "/attributes.json", std::move(level)});
  }
  return documents;
}

}  // namespace

std::vector<DatasetDocument> PyramidDocuments(ArrayDialect format, NewPyramid pyramid) {
  if (format == ArrayDialect::kN5) return N5Documents(std::move(pyramid));
  if (format == ArrayDialect::kZarr2) return Zarr2Documents(std::move(pyramid));
  return Zarr3Documents(std::move(pyramid));
}

}  // namespace unshard
