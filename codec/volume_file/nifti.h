// NIfTI: one file of header and voxels (.nii), version 1, and version 2 where a size exceeds 32767.
#pragma once

#include "codec/volume_file/volume_file.h"

namespace unshard {

// x fastest; channels are dimension 5, with dimension 4 of size 1 and the intent of a vector. Sizes
// of voxels are in micrometres; qform and sform both give the position of the first voxel. Fails
// with kNotSupported for types that NIfTI does not have, and for arrays that are no image in space.
Result<VolumeFileLayout> DescribeNifti(const VolumeFileSource& source);

}  // namespace unshard
