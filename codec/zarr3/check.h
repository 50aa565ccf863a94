// Checks of the inner chunks of Zarr v3 arrays before they are stored, by their codec chain.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "codec/chain/codec_spec.h"
#include "codec/grid/chunk_check.h"

namespace unshard {

// `chain` is that of the unsharded equivalent, `data_type` as NormaliseExtension returns it. Where
// the encoding has a fixed size, chunks must have it (chunks at the edges are not clipped). Known
// compressors and checksums at the end of the chain must decode, and where the data type has a
// fixed size, to exactly the bytes of a chunk. Where nothing else is known, chunks must not be
// empty. Never null; immutable; thread-safe.
std::shared_ptr<const ChunkCheck> MakeZarrChunkCheck(const ChainSpec& chain,
                                                     const std::vector<std::uint64_t>& chunk_shape,
                                                     const JsonValue& data_type);

}  // namespace unshard
