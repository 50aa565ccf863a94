// Checks that a compressed_segmentation chunk can be decoded, from its headers alone.
#pragma once

#include <array>
#include <cstdint>

#include "codec/core/bytes.h"
#include "codec/core/error.h"

namespace unshard {

// The properties of one chunk in the metadata.
struct SegmentationForm {
  std::array<std::uint64_t, 3> shape{};        // of the clipped chunk, x y z
  std::array<std::uint64_t, 3> block_shape{};  // at least 1 each
  std::uint64_t channels = 1;
  std::uint64_t label_words = 1;  // of 32 bits: 1 or 2
};

// `start` is the beginning of a chunk of `size` bytes. Fails with kInvalidArgument unless channels,
// block headers and everything that these refer to lie within the chunk, as far as `start` contains
// them. Takes time in proportion to start.size(). Pure function; thread-safe.
Status CheckCompressedSegmentation(ByteSpan start, std::uint64_t size,
                                   const SegmentationForm& form);

}  // namespace unshard
