// Datasets as views take them from any format: arrays, pyramids of arrays, groups; and the
// positions of their voxels in space. codec/FORMATS.md, "Views". Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/array/array.h"
#include "codec/core/error.h"
#include "codec/json/json.h"

namespace unshard {

// One level of a pyramid, or a single array.
struct PyramidLevel {
  std::string path;  // below the directory of the dataset; "": that directory itself
  Array array;
};

// What the metadata documents of one directory, and those of its levels, describe.
struct SourceDataset {
  enum class Kind {
    kArray,    // one array, in the directory itself
    kPyramid,  // the same volume at several resolutions, finest first
    kGroup,    // no array of its own
  };
  Dialect dialect = Dialect::kZarr3;
  Kind kind = Kind::kGroup;
  // The metadata of the directory itself: precomputed, the whole `info`; Zarr, the attributes; N5,
  // attributes.json. Of a single array, those that `levels` does not have.
  JsonValue attributes = JsonValue::Object();
  std::vector<PyramidLevel> levels;  // kArray: one; kGroup: none
};

// One axis of a pyramid.
struct PyramidAxis {
  enum class Kind { kSpace, kChannel, kTime, kOther };
  std::string name;
  Kind kind = Kind::kOther;
  // The unit of the numbers in LevelPosition: "nm" for every unit of length, else that of the
  // source; "": none.
  std::string unit;
};
// An axis of this name, of the kind that the name tells (x, y, z; c or channel; t or time).
PyramidAxis AxisNamed(std::string name);
// The axes of an array by its names alone; "" where it has none.
std::vector<PyramidAxis> AxesOf(const Array& array);
// Gives the axis the unit of its numbers, and returns the size of a voxel in it. Lengths become
// nanometres.
double TakeUnit(const DimensionUnit& voxel, PyramidAxis& axis);

// Where the voxels of a level are, one number an axis, slowest first.
struct LevelPosition {
  std::vector<double> resolution;  // the distance between neighbouring voxels
  std::vector<double> corner;      // the lower end of the voxel with index 0, not its centre
};

struct PyramidGeometry {
  std::vector<PyramidAxis> axes;      // slowest first
  std::vector<LevelPosition> levels;  // as in SourceDataset::levels
  std::vector<std::string> warnings;  // what the metadata lack, and what is assumed instead
};

// Reads the geometry of an array or a pyramid. Fails with kDataLoss on damaged metadata, and with
// kNotSupported, naming what is in the way, where they do not say where the voxels are.
Result<PyramidGeometry> ReadGeometry(const SourceDataset& dataset);

struct OmeVersion;
// `attributes` of a group, with what the conventions of its format say of a pyramid: OME-Zarr, of
// this version, or DefaultOmeVersion where that is null or of another format; of N5 those of
// n5-viewer, n5-universe and Paintera. `geometry` has the axes of the arrays, which are in `paths`.
// Fails as N5GroupOf does.
Result<JsonValue> PyramidAttributes(Dialect dialect, const OmeVersion* version,
                                    const PyramidGeometry& geometry,
                                    const std::vector<std::string>& paths, JsonValue attributes);

// The corner of a level in voxels, along one axis. Fails with kNotSupported, in a message that
// begins with `what`, where that is no whole number.
Result<std::int64_t> WholeOffset(const LevelPosition& level, std::size_t axis,
                                 std::string_view what);
// Whether a number is whole up to rounding errors.
bool IsNearlyWhole(double value);

// A list of numbers.
JsonValue NumberList(std::span<const double> values);
// The numbers of a list with `size` items; nothing where the value is anything else.
std::optional<std::vector<double>> NumbersOf(const JsonValue* value, std::size_t size);

}  // namespace unshard
