// The compressed_segmentation chunk encoding of precomputed volumes (encoder).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

// Encodes one channel of labels, x fastest, in blocks of `block_shape` (x, y, z), exactly as the
// canonical encoder does (TensorStore and Neuroglancer give the same bytes). Fails with
// kInvalidArgument where an extent is out of bounds or the labels are not as many as the shape
// says, and with kResourceExhausted where the result would need offsets of more than 24 bits,
// which no reader follows. Pure function; thread-safe.
Result<ByteVector> EncodeCompressedSegmentation(std::span<const std::uint64_t> labels,
                                                const std::array<std::uint64_t, 3>& shape,
                                                const std::array<std::uint64_t, 3>& block_shape);

}  // namespace unshard
