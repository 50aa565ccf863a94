// The compressed_segmentation chunk encoding of precomputed volumes (encoder).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "codec/bytes.h"

namespace unshard {

// Encodes one channel of labels, x fastest, in blocks of `block_shape` (x, y, z), exactly as the
// canonical encoder does (TensorStore and Neuroglancer give the same bytes).
// Requires: labels.size() is the product of `shape`; block extents are at least 1.
ByteVector EncodeCompressedSegmentation(std::span<const std::uint64_t> labels,
                                        const std::array<std::uint64_t, 3>& shape,
                                        const std::array<std::uint64_t, 3>& block_shape);

}  // namespace unshard
