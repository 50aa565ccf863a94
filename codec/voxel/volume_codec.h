// The chunk codecs of precomputed volumes, by the `encoding` of a scale. codec/FORMATS.md, "Chunk
// encodings". Pure functions; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "codec/chain/codec_chain.h"

namespace unshard {

// The properties of the chunks of one scale in the `info`.
struct VolumeEncoding {
  std::string encoding;  // in lower case
  DataType type;
  std::uint64_t channels = 1;
  // x y z, of compressed_segmentation; nothing: the scale has none.
  std::optional<std::array<std::uint64_t, 3>> block_size;
  std::optional<int> jpeg_quality;  // 0..100
  std::optional<int> png_level;     // 0..9
};

// The codec; chunks have the axes channel, z, y, x. Fails with kNotSupported, naming the encoding,
// where it is not known here, and with kDataLoss where it cannot have voxels of this type or so
// many channels.
Result<ChunkCodecPtr> MakeVolumeCodec(const VolumeEncoding& volume);

}  // namespace unshard
