// The chunk codecs of Zarr v3 arrays, by their codec chain. Pure functions; thread-safe.
#pragma once

#include <cstddef>

#include "codec/chain/codec.h"
#include "codec/chain/codec_spec.h"
#include "codec/json/cursor.h"
#include "codec/voxel/chunk_codec.h"

namespace unshard {

// The codec of `codecs`, the list in an array's metadata without sharding_indexed, for arrays of
// `rank` dimensions. Fails with kDataLoss, naming the path and what was expected, on damaged
// metadata, and with kNotSupported, naming the codec, where voxels cannot be decoded, or where a
// codec does not take what the codecs before it give.
Result<ChunkCodecPtr> MakeZarr3ChunkCodec(const JsonCursor& codecs, const DataType& type,
                                          std::size_t rank);
// The same of a list that is parsed, whose path is `path`.
Result<ChunkCodecPtr> MakeZarr3ChunkCodec(const ChainSpec& chain, const std::string& path,
                                          const DataType& type, std::size_t rank);

// An array-to-array codec, but no transpose, bound to the items that reach it; null for any other
// codec. Fails as ArrayCodecDefinition::bind does.
Result<ArrayCodecPtr> BindArrayCodec(const CodecSpec& codec, const ArrayRepresentation& decoded);

}  // namespace unshard
