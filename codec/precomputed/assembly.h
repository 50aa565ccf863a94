// Assemblies of precomputed shards, for MakeNeuroglancerShardFormat.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "codec/precomputed/shard.h"
#include "codec/shard/assembly.h"

namespace unshard {

// The size of the shard index; nothing where no object can be that large.
std::optional<std::uint64_t> ShardIndexSize(const ShardingSpec& spec);

// For data and minishard indexes; the same as TensorStore's.
inline constexpr int kShardGzipLevel = 9;

// ShardFormat::Assemble. Requires, as the next one does: the spec has a ShardIndexSize.
std::unique_ptr<ShardAssembly> AssembleNeuroglancerShard(const ShardingSpec& spec,
                                                         std::uint64_t shard,
                                                         const std::vector<AssembledChunk>& chunks);
// ShardFormat::Append. Requires: base_size is not below ShardIndexSize.
std::unique_ptr<ShardAssembly> AppendToNeuroglancerShard(const ShardingSpec& spec,
                                                         std::uint64_t shard,
                                                         const std::vector<AssembledChunk>& chunks,
                                                         std::vector<std::uint64_t> changed_pages,
                                                         std::uint64_t base_size);

}  // namespace unshard
