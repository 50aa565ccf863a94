// The compressed_segmentation encoding of precomputed volumes.
#pragma once

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/voxel/compressed_segmentation_layout.h"
#include "codec/voxel/volume_codec.h"

namespace unshard {

// Labels are little-endian, x fastest, then y, z and channel. Pure functions; thread-safe.

// Encodes exactly as the canonical encoder does (TensorStore and Neuroglancer give the same bytes).
// Fails with kInvalidArgument where an extent is out of bounds or the labels are not as many as the
// form says, and with kResourceExhausted where an offset from the start of the chunk would have
// more than 24 bits, which Neuroglancer does not follow.
Result<ByteVector> EncodeCompressedSegmentation(ByteSpan labels, const SegmentationForm& form);

// Fails with kDataLoss unless `encoded` has a label for each voxel of the form. What lies between
// the parts, and indexes of positions beyond a clipped edge, may be anything. Requires: block
// extents of at least 1, and a product of the shape that fits into memory.
Result<ByteVector> DecodeCompressedSegmentation(ByteSpan encoded, const SegmentationForm& form);

// The codec of volumes of uint32 or uint64 with a block size; else fails with kDataLoss.
Result<ChunkCodecPtr> MakeCompressedSegmentationCodec(const VolumeEncoding& volume);

}  // namespace unshard
