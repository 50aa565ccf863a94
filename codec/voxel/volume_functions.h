// A chunk codec of precomputed volumes, made of functions on bytes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "codec/core/bytes.h"
#include "codec/voxel/chunk_codec.h"
#include "codec/voxel/image_form.h"
#include "codec/voxel/volume_codec.h"

namespace unshard {

// From one form of a chunk of `shape` (x, y, z; no extent is 0) to the other.
using VolumeFunction =
    std::function<Result<ByteVector>(ByteSpan from, const std::array<std::uint64_t, 3>& shape)>;

struct VolumeFunctions {
  std::string items;      // for ChunkEncoding
  VolumeFunction decode;  // to exactly the bytes of all voxels
  VolumeFunction encode;  // from exactly these bytes; empty: the encoding is only read
  bool is_lossy = false;
};

// The codec. It calls the functions with shapes of four axes only, of the volume's channels, and
// of bytes that can be counted. Never null.
ChunkCodecPtr MakeFunctionCodec(const VolumeEncoding& volume, VolumeFunctions functions);

// kDataLoss: the encoding has no such volumes, only what is `expected`: "uint8".
tl::unexpected<Error> RefuseVolume(const VolumeEncoding& volume, const std::string& expected);

// The image of a chunk of `shape`.
ImageForm ImageFormOf(const VolumeEncoding& volume, const std::array<std::uint64_t, 3>& shape);

}  // namespace unshard
