// The voxels alone.
#pragma once

#include "codec/volume_file/volume_file.h"

namespace unshard {

// No header; the axes are in the order in which the format of the array lists them. Fails as
// LayoutInOrder does.
Result<VolumeFileLayout> DescribeRaw(const VolumeFileSource& source);

}  // namespace unshard
