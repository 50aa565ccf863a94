// Grid cells to slots of Zarr v3 shards and back, through all levels of sharding.
#pragma once

#include <memory>
#include <vector>

#include "codec/grid/chunk_grid.h"
#include "codec/shard/chunk_locator.h"
#include "codec/zarr3/shard.h"

namespace unshard {

// Locates the inner chunks of `grid` in the shards of `shard_grid`, which have these levels. The
// number of a shard is its position in shard_grid, in C order. Never null; immutable; thread-safe.
std::shared_ptr<const ChunkLocator> MakeZarrChunkLocator(const ChunkGrid& grid,
                                                         const ChunkGrid& shard_grid,
                                                         std::vector<ShardLevel> levels);

}  // namespace unshard
