// Checks of the inner chunks of Zarr v3 arrays, by their codec chain.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "codec/compression/codec_chain.h"
#include "codec/voxel/chunk_check.h"

namespace unshard {

// `chain` is that of the unsharded equivalent, `data_type` as NormaliseExtension gives it. Where
// the encoding has a fixed size, chunks must have it (border chunks are not clipped). Known
// compressors and checksums at the end of the chain must decode, and to the length of the values
// where that is fixed. With unknown codecs and data types of varying length: not empty. Never null.
std::shared_ptr<const ChunkCheck> MakeZarrChunkCheck(const CodecChain& chain,
                                                     const std::vector<std::uint64_t>& chunk_shape,
                                                     const JsonValue& data_type);

}  // namespace unshard
