// Checks of the inner chunks of Zarr v3 arrays, by the codec chain that they went through.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "codec/compression/codec_chain.h"
#include "codec/voxel/chunk_check.h"

namespace unshard {

// `chain` is that of the unsharded equivalent, `data_type` as NormaliseExtension gives it. Where
// the chain ends in codecs of fixed size, chunks have the one length that follows from the shape
// (border chunks are not clipped); where it ends in compressors and checksums that are known, the
// chunk has to decode, and to the length of the values where that is fixed. Unknown codecs and data
// types of varying length: not empty. Never null.
std::shared_ptr<const ChunkCheck> MakeZarrChunkCheck(const CodecChain& chain,
                                                     const std::vector<std::uint64_t>& chunk_shape,
                                                     const JsonValue& data_type);

}  // namespace unshard
