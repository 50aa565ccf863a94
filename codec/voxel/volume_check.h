// Checks of the chunks of precomputed volumes before they are stored, by the encoding of their
// scale.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "codec/grid/chunk_grid.h"
#include "codec/voxel/chunk_check.h"

namespace unshard {

// The properties of the chunks of one scale in the `info`.
struct VolumeChunks {
  ChunkGrid grid;                             // x y z
  std::string encoding;                       // in lower case
  std::uint64_t item_size = 0;                // bytes of one value; 0: not known
  std::uint64_t channels = 0;                 // 0: not known
  std::array<std::uint64_t, 3> block_size{};  // of compressed_segmentation; 0: not known
};

// raw: the length of the clipped chunk. jpeg, png: a whole image with as many pixels as the clipped
// chunk has voxels and as many components as channels. compressed_segmentation: everything that its
// headers refer to lies within the chunk. compresso: signature and number of voxels. jxl: the
// signature. Other encodings, and scales whose metadata lack what a check needs: not empty. Never
// null; immutable; thread-safe.
std::shared_ptr<const ChunkCheck> MakeVolumeCheck(VolumeChunks chunks);

}  // namespace unshard
