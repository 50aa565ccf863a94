// How chunks of a precomputed scale are put into shards: the parameters for wished write chunks,
// and the write chunks that parameters mean. Pure; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "codec/core/error.h"
#include "codec/precomputed/shard.h"
#include "codec/schema/chunk_layout.h"

namespace unshard {

using Extents3 = std::array<std::int64_t, 3>;

// The sharding (hash identity, minishard index gzip) whose shards are nearest to the constraints on
// write chunks, of which only `shape` and `elements` count; without bits for minishards and
// preshift a shard holds one chunk. Fails where a hard extent is no chunk extent times a power of
// two, or cannot be met together with the others. Requires: extents of the volume from 0 on, of
// chunks from 1 on.
Result<ShardingSpec> ChooseSharding(const ChunkShapeConstraints& write_chunk,
                                    const Extents3& volume, const Extents3& chunk);

// How many bits a chunk id has.
unsigned ChunkIdBits(const Extents3& volume, const Extents3& chunk);

// How many chunks a shard spans in each dimension; nothing where shards are no boxes.
std::optional<Extents3> ShardShapeInChunks(const ShardingSpec& sharding, const Extents3& volume,
                                           const Extents3& chunk);

}  // namespace unshard
