// A whole array as one file, for programs that know no chunks: a header, then all voxels. NumPy's
// .npy (versions 1.0 and 2.0), NIfTI-1 and NIfTI-2 (.nii), NRRD 5 with attached raw data (.nrrd),
// and the voxels alone (.raw). codec/FORMATS.md, "Whole arrays as files". Pure; thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/types/data_type.h"

namespace unshard {

// Which axes of an array are those of an image in space, x, y and z.
struct SpatialAxes {
  struct Axis {
    // Among the axes of the array, slowest first; nothing: the array is one voxel deep here.
    std::optional<std::size_t> axis;
    double resolution = 1;  // nanometres between voxels
    double offset = 0;      // of the first voxel, in voxels
  };
  std::array<Axis, 3> xyz;
  std::optional<std::size_t> channel;
};

struct VolumeFileSource {
  DataType type;
  std::vector<std::uint64_t> shape;  // slowest axis first
  // Whether the format of the array lists its axes fastest first (precomputed, N5).
  bool fastest_first = false;
  // kNotSupported, naming what is in the way, where the array is no image in space.
  Result<SpatialAxes> space =
      Fail(ErrorCode::kNotSupported, "none of the axes of this array is known to be x, y or z");
};

// The parts of a file. The voxels follow the header: little-endian, without gaps.
struct VolumeFileLayout {
  ByteVector header;
  // The axes of the array in the order of the file, slowest first.
  std::vector<std::size_t> order;
  std::uint64_t body_bytes = 0;
};

struct VolumeFileFormat {
  std::string_view name;  // and the suffix of its files
  // Fails with kNotSupported, naming what the format cannot express.
  Result<VolumeFileLayout> (*describe)(const VolumeFileSource& source);
};

// By name.
std::span<const VolumeFileFormat> VolumeFileFormats();
// Null where there is none of this name.
const VolumeFileFormat* FindVolumeFileFormat(std::string_view name);

}  // namespace unshard
