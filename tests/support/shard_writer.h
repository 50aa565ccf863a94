// Makes whole shards in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "codec/core/bytes.h"
#include "codec/precomputed/shard.h"
#include "codec/shard/assembly.h"

namespace unshard {

// The bytes that a shard gets for one chunk.
struct ChunkBytes {
  Bytes leading;  // fragments before a mesh manifest
  Bytes stored;
};

// The shard that `assembly` makes of `base` (none for a whole new shard). `chunk` gives the bytes
// of a chunk by its number. Fails as the assembly and `chunk` do, and with kResourceExhausted where
// the shard would take more than `max_bytes`.
Result<ByteVector> AssembleInMemory(ShardAssembly& assembly,
                                    const std::function<Result<ChunkBytes>(std::size_t)>& chunk,
                                    std::uint64_t max_bytes, ByteVector base = {});

// A chunk to be stored: its slot (chunk id, or Zarr position in C order) and its plain bytes.
struct ShardChunk {
  std::uint64_t slot = 0;
  ByteVector plain;
};

// One precomputed shard. Requires: all chunks belong to this one shard, ids are distinct.
ByteVector EncodeNeuroglancerShard(const ShardingSpec& spec, std::vector<ShardChunk> chunks);

// One sharding_indexed shard with an index of `slot_count` rows (bytes little, crc32c) at the end.
// `plain` is stored as given. Requires: slots are distinct and below slot_count.
ByteVector EncodeZarrShard(std::uint64_t slot_count, const std::vector<ShardChunk>& chunks);

}  // namespace unshard
