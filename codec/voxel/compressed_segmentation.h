// The compressed_segmentation encoding of precomputed volumes. codec/FORMATS.md, "Chunk encodings".
#pragma once

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/voxel/compressed_segmentation_layout.h"
#include "codec/voxel/volume_codec.h"

namespace unshard {

// Labels are little-endian, x fastest, then y, z and channel. Pure functions; thread-safe.

// Encodes to the same bytes as TensorStore and Neuroglancer. Fails with kInvalidArgument where an
// extent is out of bounds or there are not as many labels as `form` has, and with
// kResourceExhausted where an offset from the start of the chunk would have more than 24 bits, of
// which Neuroglancer reads no more.
Result<ByteVector> EncodeCompressedSegmentation(ByteSpan labels, const SegmentationForm& form);

// Fails with kDataLoss unless `encoded` has a label for each voxel of the form. What lies between
// the parts, and indexes of positions beyond a clipped edge, may be anything. Requires: block
// extents of at least 1, and a product of the shape that fits into memory.
Result<ByteVector> DecodeCompressedSegmentation(ByteSpan encoded, const SegmentationForm& form);

// The codec of volumes of uint32 or uint64 with a block size; else fails with kDataLoss.
Result<ChunkCodecPtr> MakeCompressedSegmentationCodec(const VolumeEncoding& volume);

}  // namespace unshard
