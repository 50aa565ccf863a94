// The formats of whole-volume files that have a header. Pure; thread-safe.
#pragma once

#include "codec/volume_file/volume_file.h"

namespace unshard {

// NIfTI: one file of header and voxels (.nii), version 1, and version 2 where a size exceeds 32767.
// x fastest; channels are dimension 5, with dimension 4 of size 1 and the intent of a vector. Sizes
// of voxels are in micrometres; qform and sform both give the position of the first voxel. Fails
// with kNotSupported for types that NIfTI does not have, and for arrays that are no image in space.
Result<VolumeFileLayout> DescribeNifti(const VolumeFileSource& source);

// NumPy's format of one array: numpy.lib.format, versions 1.0 and 2.0. The axes are in the order in
// which the format of the array lists them. Fails with kNotSupported for types that NumPy does not
// have.
Result<VolumeFileLayout> DescribeNpy(const VolumeFileSource& source);

// NRRD: "Nearly Raw Raster Data", format version 5, the voxels attached and raw. x fastest;
// channels are the slowest axis, of kind "vector". Fails with kNotSupported for types that NRRD
// does not have, and for arrays that are no image in space.
Result<VolumeFileLayout> DescribeNrrd(const VolumeFileSource& source);

}  // namespace unshard
