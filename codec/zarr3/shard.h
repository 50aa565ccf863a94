// The shard container sharding_indexed of Zarr v3, flattened over nested levels.
//
// The index of a level lists its inner chunks in C order of its own dimensions. All levels above
// the innermost together number the pages of a shard, the innermost level numbers the slots of a
// page. codec/FORMATS.md, "Zarr v3". Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codec/chain/unshard.h"
#include "codec/grid/chunk_grid.h"
#include "codec/grid/chunk_key.h"
#include "codec/shard/chunk_locator.h"
#include "codec/shard/format.h"

namespace unshard {

// The number of inner chunks along each dimension of the outermost level in the shard at `cell` of
// the grid `shards`, in which shards may differ. `shards` and the level's chunk_shape count in one
// unit.
std::vector<std::uint64_t> GridShapeAt(const ShardLevel& outermost, const ChunkGrid& shards,
                                       std::span<const std::uint64_t> cell);

// The format of shards with these levels, outermost first. `shards` is their grid; where they
// differ in shape, grid_shape and chunk_count of the outermost level are upper bounds.
// `outer_codecs` are the bytes-to-bytes codecs after the outermost sharding_indexed, in order of
// encoding, where one of them has no fixed overhead; `outer` of the outermost level is then empty.
// Fails with kNotSupported where a shard has 2^64 pages or more. A walk requests the index of each
// level; the opening range contains the outermost one, or nothing where that is long. An object of
// length 0 is damaged.
Result<std::shared_ptr<const ShardFormat>> MakeZarrShardFormat(
    std::vector<ShardLevel> levels, std::vector<BytesCodecPtr> outer_codecs,
    const ChunkGrid& shards = {});

// Chunk keys of the stored shards.
std::shared_ptr<const ShardKeys> MakeZarrShardKeys(const ChunkGrid& shard_grid,
                                                   const ChunkKeyEncoding& encoding);

}  // namespace unshard
