// The compresso encoding of precomputed volumes (reading only).
//
// All integers are little-endian and unaligned.
//    0  "cpso", version (0 or 1), bytes of a label (1, 2, 4 or 8)
//    6  the extents x, y, z of the chunk, 2 bytes each
//   12  the extents x, y, z of a window, 1 byte each
//   15  counts: labels (8 bytes), window values (4), locations (4)
//   35  connectivity: 4 or 6
//   36  labels; window values; locations (of the size of a label); windows; and in version 1 an
//       index of the slices
// A window value has 1, 2, 4 or 8 bytes, with a bit for each voxel of a window, x fastest: 1 for a
// voxel on a boundary between labels. The windows of the chunk, x fastest, are numbers of the size
// of a window value: an even number 2n is one window with window value number n, an odd number 2n +
// 1 is n windows with window value number 0.
//
// The voxels that are not on a boundary form connected components, within a slice (connectivity 4)
// or in three dimensions (6). Components are in the order of their first voxels: the n-th one has
// the n-th label. The labels of voxels on a boundary follow from these and from the locations: step
// 3 in codec/voxel/compresso.cc.
#pragma once

#include <array>
#include <cstdint>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/voxel/volume_codec.h"

namespace unshard {

// The labels of a chunk of `shape` (x, y, z), `label_size` bytes each (1, 2, 4 or 8), little-endian
// and x fastest. Fails with kDataLoss unless `encoded` has a label for each voxel of exactly this
// form, and with kInvalidArgument for a form that no chunk has. Pure function; thread-safe.
Result<ByteVector> DecodeCompresso(ByteSpan encoded, const std::array<std::uint64_t, 3>& shape,
                                   std::uint64_t label_size);

// The codec of volumes of integers with 1 channel; else fails with kDataLoss.
Result<ChunkCodecPtr> MakeCompressoCodec(const VolumeEncoding& volume);

}  // namespace unshard
