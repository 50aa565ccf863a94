// A chunk codec of precomputed volumes, made of two functions on bytes. Pure; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "codec/chain/codec_chain.h"
#include "codec/core/bytes.h"
#include "codec/core/library.h"
#include "codec/voxel/image_form.h"
#include "codec/voxel/volume_codec.h"

namespace unshard {

// Encodes or decodes a chunk of `shape` (x, y, z; no extent is 0).
using VolumeFunction =
    std::function<Result<ByteVector>(ByteSpan from, const std::array<std::uint64_t, 3>& shape)>;

struct VolumeFunctions {
  std::string items;                 // for ChunkEncoding
  VolumeFunction decode;             // to exactly the bytes of all voxels
  VolumeFunction encode;             // from exactly these bytes; empty: the encoding is only read
  const Library* library = nullptr;  // which both call; null: none that a build may lack
  bool is_lossy = false;
};

// The codec. It calls the functions only for chunks with the axes channel, z, y, x, with all
// channels of the volume, and of a size for which VoxelBytes succeeds. Never null.
ChunkCodecPtr MakeFunctionCodec(const VolumeEncoding& volume, VolumeFunctions functions);

// kDataLoss: the encoding does not have the type or the channels of `volume`, only `expected`:
// "uint8".
tl::unexpected<Error> RefuseVolume(const VolumeEncoding& volume, const std::string& expected);

// The image of a chunk of `shape`.
ImageForm ImageFormOf(const VolumeEncoding& volume, const std::array<std::uint64_t, 3>& shape);

}  // namespace unshard
