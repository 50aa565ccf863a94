// NIfTI: one file of header and voxels (.nii), version 1, and version 2 where a size exceeds 32767.
#pragma once

#include "codec/volume_file/volume_file.h"

namespace unshard {

// x fastest; channels are dimension 5, with dimension 4 of size 1 and the intent of a vector. Sizes
// of voxels are micrometres; both qform and sform place the first voxel. Fails for types that NIfTI
// has no number for, and for arrays that are no image in space.
Result<VolumeFileLayout> DescribeNifti(const VolumeFileSource& source);

}  // namespace unshard
