// Checks that a compressed_segmentation chunk can be decoded, from its headers alone.
#pragma once

#include <cstdint>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/voxel/compressed_segmentation_layout.h"

namespace unshard {

// `start` is the beginning of a chunk of `size` bytes. Fails with kInvalidArgument unless channels,
// block headers and everything that these refer to lie within the chunk, as far as `start` contains
// them. Takes time in proportion to start.size(). Pure function; thread-safe.
Status CheckCompressedSegmentation(ByteSpan start, std::uint64_t size,
                                   const SegmentationForm& form);

}  // namespace unshard
