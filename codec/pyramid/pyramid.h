// Datasets as views see them, whatever format they come from: arrays, pyramids of them, groups; and
// where the voxels of each level lie. codec/FORMATS.md, "Views".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/array/array_metadata.h"
#include "codec/core/error.h"
#include "codec/json/json.h"

namespace unshard {

// One level of a pyramid, or a single array.
struct PyramidLevel {
  std::string path;  // below the directory of the dataset; "": that directory itself
  ArrayMetadata array;
};

// What the metadata documents of one directory, and those of its levels, describe.
struct SourceDataset {
  enum class Kind {
    kArray,    // one array, in the directory itself
    kPyramid,  // the same volume at several resolutions, finest first
    kGroup,    // no array of its own
  };
  ArrayDialect dialect = ArrayDialect::kZarr3;
  Kind kind = Kind::kGroup;
  // What the documents of the directory itself say: precomputed, the whole `info`; Zarr, the
  // attributes; N5, attributes.json. Of a single array, as far as `levels` does not have it.
  JsonValue attributes = JsonValue::Object();
  std::vector<PyramidLevel> levels;  // kArray: one; kGroup: none
};

// One axis of a pyramid.
struct PyramidAxis {
  enum class Kind { kSpace, kChannel, kTime, kOther };
  std::string name;
  Kind kind = Kind::kOther;
  // Of the numbers in LevelPosition: "nm" for every unit of length, else as the source has it; ""
  // where it has none.
  std::string unit;
};
// The kind that a name means by convention: x, y, z, c or channel, t or time.
PyramidAxis::Kind KindOfAxis(std::string_view name);

// Where the voxels of a level are, one number an axis, slowest first.
struct LevelPosition {
  std::vector<double> resolution;  // the distance of two voxels
  std::vector<double> corner;      // of the voxel with index 0: its lower end, not its centre
};

struct PyramidGeometry {
  std::vector<PyramidAxis> axes;      // slowest first
  std::vector<LevelPosition> levels;  // as in SourceDataset::levels
  std::vector<std::string> warnings;  // what the metadata lack, and what stands in for it
};

// Reads the geometry of an array or a pyramid. Fails with kDataLoss on damaged metadata, and with
// kNotSupported, naming what is in the way, where they do not say where the voxels are.
Result<PyramidGeometry> ReadGeometry(const SourceDataset& dataset);

// The corner of a level in voxels, along one axis. Fails with kNotSupported where that is no whole
// number, naming `what`.
Result<std::int64_t> WholeOffset(const LevelPosition& level, std::size_t axis,
                                 std::string_view what);
// Whether a number is whole but for an error of rounding.
bool IsNearlyWhole(double value);

// A list of numbers.
JsonValue NumberList(std::span<const double> values);
// The number that a JSON value is. Nothing where it is none, or not finite.
std::optional<double> NumberOf(const JsonValue& value);
// The numbers of a list with `size` items; nothing where the value is anything else.
std::optional<std::vector<double>> NumbersOf(const JsonValue* value, std::size_t size);

}  // namespace unshard
