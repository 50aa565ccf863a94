// The properties of an array from which the headers of whole-volume files are made. Pure;
// thread-safe.
#pragma once

#include <cstddef>

#include "codec/pyramid/pyramid.h"
#include "codec/volume_file/volume_file.h"

namespace unshard {

// Level number `level` of `dataset`. Which axes are x, y, z and channel is what a precomputed view
// of the dataset takes for them (codec/FORMATS.md, "Views"); a single channel counts as none. Where
// the metadata do not place the voxels in nanometres, `space` says why.
VolumeFileSource DescribeLevel(const SourceDataset& dataset, std::size_t level);

}  // namespace unshard
