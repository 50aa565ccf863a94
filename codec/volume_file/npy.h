// NumPy's format of one array: numpy.lib.format, versions 1.0 and 2.0.
#pragma once

#include "codec/volume_file/volume_file.h"

namespace unshard {

// Axes as the format of the array lists them. Fails for types that NumPy has no name for.
Result<VolumeFileLayout> DescribeNpy(const VolumeFileSource& source);

}  // namespace unshard
