// The chunk codecs of Zarr v3 arrays, by their codec chain. Pure functions; thread-safe.
#pragma once

#include <cstddef>

#include "codec/json/cursor.h"
#include "codec/voxel/chunk_codec.h"

namespace unshard {

// The codec of `codecs`, the list in an array's metadata without sharding_indexed, for arrays of
// `rank` dimensions. Fails with kDataLoss, naming the path and what was expected, on damaged
// metadata, and with kNotSupported, naming the codec, where voxels cannot be decoded.
Result<ChunkCodecPtr> MakeZarr3ChunkCodec(const JsonCursor& codecs, const DataType& type,
                                          std::size_t rank);

}  // namespace unshard
