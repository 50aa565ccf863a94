// The `sharding` of a precomputed scale for given write chunks, and the shape of the shards of a
// given `sharding`. Pure; thread-safe.
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
// write chunks, of which only `shape` and `elements` are considered; with preshift_bits and
// minishard_bits 0 each shard has one chunk. Fails with kInvalidArgument where a hard extent is no
// chunk extent times a power of two, or cannot be met together with the others. Requires: extents
// of the volume from 0 on, of chunks from 1 on.
Result<ShardingSpec> ChooseSharding(const ChunkShapeConstraints& write_chunk,
                                    const Extents3& volume, const Extents3& chunk);

// The number of chunks along a dimension; the last one may be clipped.
constexpr std::int64_t ChunksAlong(std::int64_t extent, std::int64_t chunk) {
  return extent / chunk + (extent % chunk != 0 ? 1 : 0);
}

// The number of bits of a chunk id.
unsigned ChunkIdBits(const Extents3& volume, const Extents3& chunk);

// The number of chunks of a shard along each dimension; nothing where shards are no boxes.
std::optional<Extents3> ShardShapeInChunks(const ShardingSpec& sharding, const Extents3& volume,
                                           const Extents3& chunk);

}  // namespace unshard
