// NumPy's format of one array: numpy.lib.format, versions 1.0 and 2.0.
#pragma once

#include "codec/volume_file/volume_file.h"

namespace unshard {

// The axes are in the order in which the format of the array lists them. Fails with kNotSupported
// for types that NumPy does not have.
Result<VolumeFileLayout> DescribeNpy(const VolumeFileSource& source);

}  // namespace unshard
