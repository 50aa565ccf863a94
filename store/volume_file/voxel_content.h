// A whole-volume file: its header, and the voxels of the chunks that a read covers.
#pragma once

#include <memory>

#include "codec/volume_file/volume_file.h"
#include "store/chunks/chunk_content.h"
#include "store/volume_file/decoded_chunks.h"

namespace unshard {

// Voxels of absent chunks are the fill value. Each chunk that a read covers is decoded, unless it
// is in the cache, and is one of its versions as a whole; two chunks may be of different times.
// Requires: `layout` describes the array of `chunks`.
ContentPtr MakeVoxelContent(VolumeFileLayout layout, std::shared_ptr<DecodedChunks> chunks);

}  // namespace unshard
