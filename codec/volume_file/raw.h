// The voxels alone.
#pragma once

#include "codec/volume_file/volume_file.h"

namespace unshard {

// Axes as the format of the array lists them; no header.
Result<VolumeFileLayout> DescribeRaw(const VolumeFileSource& source);

}  // namespace unshard
