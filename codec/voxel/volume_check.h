// Checks of the chunks of precomputed volumes, by the encoding of their scale.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "codec/grid/chunk_grid.h"
#include "codec/voxel/chunk_check.h"

namespace unshard {

// What an `info` says about the chunks of one scale.
struct VolumeChunks {
  ChunkGrid grid;                             // x y z
  std::string encoding;                       // in lower case
  std::uint64_t item_size = 0;                // bytes of one value; 0: not known
  std::uint64_t channels = 0;                 // 0: not known
  std::array<std::uint64_t, 3> block_size{};  // of compressed_segmentation; 0: not known
};

// raw: the length of the clipped chunk. jpeg, png: a whole image with as many pixels as the clipped
// chunk has voxels and as many components as channels. compressed_segmentation: all that its
// headers refer to lies within the chunk. compresso, jxl: the signature. Anything else, and what is
// not known: not empty. Never null.
std::shared_ptr<const ChunkCheck> MakeVolumeCheck(VolumeChunks chunks);

}  // namespace unshard
