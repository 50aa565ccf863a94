#include "codec/pyramid/dataset_view.h"

#include <set>
#include <utility>

#include "codec/json/meaning.h"
#include "codec/precomputed/scale.h"
#include "codec/pyramid/n5_pyramid.h"
#include "codec/pyramid/ome_conversion.h"
#include "codec/pyramid/ome_pyramid.h"

namespace unshard {
namespace {

using Kind = SourceDataset::Kind;
void Append(std::vector<MetadataDocument> documents, PresentedDataset& to) {
  for (MetadataDocument& one : documents) to.documents.push_back(std::move(one));
}

// The version of OME-Zarr that metadata of the source get in the format `to`. Null: they stay as
// they are.
const OmeVersion* OmeVersionFor(const SourceDataset& dataset, Dialect to,
                                const ViewOptions& options) {
  if (!IsZarr(to) || dataset.dialect == Dialect::kPrecomputed) return nullptr;
  if (options.ome != nullptr && options.ome->dialect == to) return options.ome;
  return to == dataset.dialect ? nullptr : &DefaultOmeVersion(to);
}

// The attributes of a group or a pyramid in the format `to`, without the members about its levels
// where another convention says these.
Result<JsonValue> GroupAttributes(const SourceDataset& dataset, Dialect to,
                                  const ViewOptions& options, std::vector<std::string>& warnings) {
  if (dataset.dialect == Dialect::kPrecomputed) return JsonValue::Object();
  JsonValue attributes = dataset.attributes;
  if (to == Dialect::kN5 || dataset.dialect == Dialect::kN5) EraseN5Members(attributes);
  if (const OmeVersion* version = OmeVersionFor(dataset, to, options)) {
    UNSHARD_RETURN_IF_ERROR(
        ConvertOme(dataset.dialect, *version, dataset.levels, attributes, warnings));
  }
  return attributes;
}

std::vector<std::string> PathsIn(const SourceDataset& dataset, Dialect to,
                                 const std::vector<PresentedArray>& arrays) {
  std::vector<std::string> paths;
  const bool single = dataset.kind == Kind::kArray;
  for (std::size_t i = 0; i < dataset.levels.size(); ++i) {
    if (to == Dialect::kPrecomputed) {
      paths.push_back(ScaleKey(arrays[i].presented));
    } else if (single || (IsZarr(to) && IsZarr(dataset.dialect))) {
      paths.push_back(dataset.levels[i].path);
    } else {
      paths.push_back((to == Dialect::kN5 ? "s" : "") + std::to_string(i));
    }
  }
  return paths;
}

// The geometry with the axes of the presented arrays.
PyramidGeometry MapGeometry(const PyramidGeometry& geometry, const AxisMap& axes) {
  PyramidGeometry mapped;
  mapped.axes = MapList(axes, geometry.axes, PyramidAxis{});
  for (const LevelPosition& level : geometry.levels) {
    mapped.levels.push_back(
        {MapList(axes, level.resolution, 1.0), MapList(axes, level.corner, 0.0)});
  }
  return mapped;
}

constexpr std::string_view kNoUnits = "no units: a voxel is taken to be 1 nm wide";

// The numbers of a precomputed volume are nanometres.
Status CheckUnits(const PyramidGeometry& geometry, std::vector<std::string>& warnings) {
  bool guessed = false;
  for (const PyramidAxis& axis : geometry.axes) {
    if (axis.kind != PyramidAxis::Kind::kSpace && axis.kind != PyramidAxis::Kind::kOther) continue;
    if (axis.unit.empty()) guessed = true;
    if (axis.unit.empty() || axis.unit == "nm") continue;
    return Fail(ErrorCode::kNotSupported, "the unit ", axis.unit, " of the axis ", axis.name,
                " is not a length, which a precomputed volume needs");
  }
  if (guessed) warnings.emplace_back(kNoUnits);
  return {};
}

// Adds the document of a whole pyramid, and those of the groups between it and its levels.
Status AddPyramid(const SourceDataset& dataset, const PyramidGeometry& geometry, Dialect to,
                  const ViewOptions& options, PresentedDataset& presented) {
  if (to == Dialect::kPrecomputed) {
    std::vector<Array> scales;
    for (const auto& level : presented.levels) scales.push_back(level.array.presented);
    if (const auto key = SharedScaleKey(scales)) {
      return Fail(ErrorCode::kNotSupported, "two levels have the resolution ", *key,
                  ", but scales are named by their resolution");
    }
    presented.documents.push_back({"", "info", WriteInfo(scales)});
    return {};
  }
  std::vector<std::string> paths;
  for (const PresentedDataset::Level& level : presented.levels) paths.push_back(level.path);
  if (dataset.kind != Kind::kPyramid) return {};
  UNSHARD_ASSIGN_OR_RETURN(JsonValue attributes,
                           GroupAttributes(dataset, to, options, presented.warnings));
  if (to == Dialect::kN5) {
    for (const char* name : {"ome", "multiscales"}) attributes.Erase(name);
  }
  if (!IsZarr(to) || !IsZarr(dataset.dialect)) {
    UNSHARD_ASSIGN_OR_RETURN(
        attributes, PyramidAttributes(to, options.ome, geometry, paths, std::move(attributes)));
  }
  Append(DocumentsOfGroup(to, std::move(attributes)), presented);
  std::set<std::string> between;
  for (const std::string& path : paths) {
    for (std::size_t at = path.find('/'); at != path.npos; at = path.find('/', at + 1)) {
      if (between.insert(path.substr(0, at)).second) {
        Append(DocumentsOfGroup(to, JsonValue::Object(), path.substr(0, at)), presented);
      }
    }
  }
  return {};
}

// Between versions of OME-Zarr the geometry is not needed, and other formats may be unable to
// express it.
Result<PyramidGeometry> GeometryFor(const SourceDataset& dataset, Dialect to) {
  if (dataset.kind != Kind::kPyramid || !IsZarr(dataset.dialect) || !IsZarr(to)) {
    return ReadGeometry(dataset);
  }
  PyramidGeometry geometry;
  const std::size_t rank = dataset.levels.front().array.rank();
  UNSHARD_ASSIGN_OR_RETURN(geometry.axes,
                           OmeAxesOf(OmeOf(dataset.dialect, dataset.attributes), rank));
  for (const PyramidLevel& level : dataset.levels) {
    if (level.array.rank() != rank) {
      return Fail(ErrorCode::kDataLoss, level.path,
                  ": has another number of axes than the other levels");
    }
    geometry.levels.push_back({std::vector<double>(rank, 1), std::vector<double>(rank, 0)});
  }
  return geometry;
}

// Python writes NaN and infinities without quotes, and strict readers refuse the whole document.
void QuoteBareNumbers(PresentedDataset& presented) {
  for (MetadataDocument& document : presented.documents) {
    if (!QuoteBareNumbers(document.content)) continue;
    presented.warnings.push_back(
        document.path() +
        ": NaN and infinities are shown as strings, because JSON has no such numbers");
  }
}

// What the versions of OME-Zarr want of the arrays of a pyramid.
Status FitToOme(const SourceDataset& dataset, Array& array) {
  if (dataset.dialect == Dialect::kZarr2) {
    array.key_encoding.separator = '/';
    return {};
  }
  UNSHARD_ASSIGN_OR_RETURN(const PyramidGeometry geometry, GeometryFor(dataset, Dialect::kZarr3));
  array.axis_names.clear();
  for (const PyramidAxis& axis : geometry.axes) array.axis_names.emplace_back(axis.name);
  return {};
}

Result<PresentedDataset> PresentInOwnFormat(const SourceDataset& dataset,
                                            const ViewOptions& options) {
  PresentedDataset presented;
  JsonValue info = dataset.attributes;  // of a precomputed volume
  const OmeVersion* const version = OmeVersionFor(dataset, dataset.dialect, options);
  for (std::size_t i = 0; i < dataset.levels.size(); ++i) {
    const PyramidLevel& level = dataset.levels[i];
    UNSHARD_ASSIGN_OR_RETURN(PresentedArray array, PresentUnsharded(level.array, options));
    if (version != nullptr && dataset.kind == Kind::kPyramid) {
      UNSHARD_RETURN_IF_ERROR(FitToOme(dataset, array.presented));
    }
    if (dataset.dialect == Dialect::kPrecomputed) {
      SetEncoding(array.presented, info.Find("scales")->mutable_items()[i]);
    } else {
      UNSHARD_ASSIGN_OR_RETURN(auto documents, DocumentsOf(array.presented, level.path));
      Append(std::move(documents), presented);
    }
    presented.levels.push_back({level.path, std::move(array)});
  }
  if (dataset.dialect == Dialect::kPrecomputed && !dataset.levels.empty()) {
    presented.documents.push_back({"", "info", std::move(info)});
  } else if (dataset.kind != Kind::kArray) {
    JsonValue attributes = dataset.attributes;
    if (version != nullptr) {
      UNSHARD_RETURN_IF_ERROR(
          ConvertOme(dataset.dialect, *version, dataset.levels, attributes, presented.warnings));
    }
    Append(DocumentsOfGroup(dataset.dialect, std::move(attributes)), presented);
  }
  QuoteBareNumbers(presented);
  return presented;
}

}  // namespace

Result<PresentedDataset> PresentDataset(const SourceDataset& dataset, Dialect to,
                                        const ViewOptions& options) {
  if (to == dataset.dialect) return PresentInOwnFormat(dataset, options);
  PresentedDataset presented;
  if (dataset.levels.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(JsonValue attributes,
                             GroupAttributes(dataset, to, options, presented.warnings));
    Append(DocumentsOfGroup(to, std::move(attributes)), presented);
    QuoteBareNumbers(presented);
    return presented;
  }
  UNSHARD_ASSIGN_OR_RETURN(PyramidGeometry geometry, GeometryFor(dataset, to));
  presented.warnings = geometry.warnings;
  if (to == Dialect::kPrecomputed) {
    UNSHARD_RETURN_IF_ERROR(CheckUnits(geometry, presented.warnings));
  }
  std::vector<PresentedArray> arrays;
  for (std::size_t i = 0; i < dataset.levels.size(); ++i) {
    auto array = PresentArray(dataset, geometry, i, to, options);
    if (!array) {
      return Forward(std::move(array).error(),
                     dataset.levels[i].path.empty() ? "the array" : dataset.levels[i].path);
    }
    arrays.push_back(*std::move(array));
  }
  const PyramidGeometry mapped = MapGeometry(geometry, arrays.front().axes);
  const std::vector<std::string> paths = PathsIn(dataset, to, arrays);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    Array& array = arrays[i].presented;
    if (to == Dialect::kN5 && dataset.kind == Kind::kPyramid) {
      UNSHARD_ASSIGN_OR_RETURN(const JsonValue members, N5LevelOf(mapped, i));
      for (const auto& [name, value] : members.members()) array.attributes.Set(name, value);
    }
    if (to != Dialect::kPrecomputed) {
      UNSHARD_ASSIGN_OR_RETURN(auto documents, DocumentsOf(array, paths[i]));
      Append(std::move(documents), presented);
    }
    presented.levels.push_back({paths[i], std::move(arrays[i])});
  }
  UNSHARD_RETURN_IF_ERROR(AddPyramid(dataset, mapped, to, options, presented));
  QuoteBareNumbers(presented);
  return presented;
}

std::string WithWayOut(std::string warning, const SourceDataset& dataset, const std::string& source,
                       const std::string& command, const std::string& arguments) {
  const std::size_t slash = source.rfind('/');
  const bool is_below = slash != std::string::npos && slash > 0 && source[slash - 1] != '/';
  const bool may_be_level = dataset.kind == Kind::kArray && IsZarr(dataset.dialect) && is_below;
  if (warning != kNoUnits || !may_be_level) return warning;
  return warning +
         "; if this array is a level of an OME-Zarr image, the group above it has the scale: "
         "`unshard " +
         command + ' ' + source.substr(0, slash) + ' ' + arguments + '`';
}

}  // namespace unshard
