// The codec "n5_default" of Zarr v3, whose chunks are N5 blocks. codec/FORMATS.md, "Chunks of Zarr
// and N5 arrays".
#pragma once

#include <cstddef>

#include "codec/chain/codec_spec.h"
#include "codec/voxel/chunk_codec.h"

namespace unshard {

// Fails as MakeZarr3ChunkCodec does. Requires: a codec of that name. Pure function; thread-safe.
Result<ChunkCodecPtr> MakeN5DefaultCodec(const CodecSpec& codec, const DataType& type,
                                         std::size_t rank);

}  // namespace unshard
