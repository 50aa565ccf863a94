// The bytes of a compressed_segmentation chunk. codec/FORMATS.md, "Chunk encodings". Pure
// functions; thread-safe.
//
// In 32-bit little-endian words:
//   1 word a channel  offset of the channel's data
//   and for each channel
//   2 words a block   offset of the table | bits of an index << 24, then the offset of the packed
//                     indexes; both count from the start of the channel's data; x fastest
//   and in any order  packed indexes, for all positions of a full block; tables of labels, of which
//                     several blocks may share one
//
// Channels are at the offsets that the first words name, in any order.
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

// Labels are little-endian, x fastest, then y, z and channel.

// Encodes to the same bytes as TensorStore and Neuroglancer. Fails with kInvalidArgument where an
// extent is out of bounds or there are not as many labels as `form` has, and with
// kResourceExhausted where an offset from the start of the chunk would have more than 24 bits, of
// which Neuroglancer reads no more.
Result<ByteVector> EncodeCompressedSegmentation(ByteSpan labels, const SegmentationForm& form);

// Fails with kDataLoss unless `encoded` has a label for each voxel of the form. What lies between
// the parts, and indexes of positions beyond a clipped edge, may be anything. Requires: block
// extents of at least 1, and a product of the shape that fits into memory.
Result<ByteVector> DecodeCompressedSegmentation(ByteSpan encoded, const SegmentationForm& form);

// `start` is the beginning of a chunk of `size` bytes. Fails with kInvalidArgument unless channels,
// block headers and everything that these refer to lie within the chunk, as far as `start` contains
// them. Takes time in proportion to start.size().
Status CheckCompressedSegmentation(ByteSpan start, std::uint64_t size,
                                   const SegmentationForm& form);

}  // namespace unshard
