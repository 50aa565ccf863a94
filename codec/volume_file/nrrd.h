// NRRD: "Nearly Raw Raster Data", format version 5, the voxels attached and raw.
#pragma once

#include "codec/volume_file/volume_file.h"

namespace unshard {

// x fastest; channels are the slowest axis, of kind "vector". Fails with kNotSupported for types
// that NRRD does not have, and for arrays that are no image in space.
Result<VolumeFileLayout> DescribeNrrd(const VolumeFileSource& source);

}  // namespace unshard
