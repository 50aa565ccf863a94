// Encoders of whole shards in memory, in deterministic layouts; `unshard sample` and tests use
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/bytes.h"
#include "codec/neuroglancer_shard.h"

namespace unshard {

// A chunk to be stored: its slot (chunk id, or Zarr position in C order) and its plain bytes.
struct ShardChunk {
  std::uint64_t slot = 0;
  ByteVector plain;
};

// One precomputed shard in TensorStore's layout: per minishard in ascending order its chunks by
// ascending id, then its index. Requires: all chunks belong to this one shard, ids are distinct.
ByteVector EncodeNeuroglancerShard(const ShardingSpec& spec, std::vector<ShardChunk> chunks);

// One sharding_indexed shard: the chunks in slot order, then the index of `slot_count` rows
// (bytes little, crc32c) at the end. `plain` is stored as given.
ByteVector EncodeZarrShard(std::uint64_t slot_count, const std::vector<ShardChunk>& chunks);

}  // namespace unshard
