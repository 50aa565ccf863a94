// The chunks of the sample's levels, encoded and not yet in a shard.
#pragma once

#include <cstddef>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "packaging/sample/documents.h"

namespace unshard::sample {

// The chunk `cell` of level `number` of the image: uint8, x fastest, 0 beyond the volume.
ByteVector ImageChunk(const Levels& levels, std::size_t number, const Position& cell);

// The same of the segmentation: compressed_segmentation of uint64, cut off where the volume ends.
// Level 1 has the label of every voxel at an even position of the finest level.
Result<ByteVector> LabelChunk(const Levels& levels, std::size_t number, const Position& cell);

}  // namespace unshard::sample
