// Checks of chunks before they are stored, by the chain of their array. Thread-safe; pure.
#pragma once

#include <memory>
#include <optional>

#include "codec/chain/codec_chain.h"
#include "codec/grid/chunk_check.h"
#include "codec/grid/chunk_grid.h"

namespace unshard {

// What `chain` says of a chunk of `chunk_shape`. `clipping`: chunks at the upper edges are clipped
// to the array of this grid, whose axes are the last ones of the chunk, in reverse order. Never
// null.
std::shared_ptr<const ChunkCheck> MakeChainCheck(ChunkCodecPtr chain, Shape chunk_shape,
                                                 std::optional<ChunkGrid> clipping = {});

}  // namespace unshard
