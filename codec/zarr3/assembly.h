// Assemblies of sharding_indexed shards, for MakeZarrShardFormat.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "codec/shard/assembly.h"
#include "codec/zarr3/index.h"

namespace unshard {

// ShardFormat::Assemble of a shard with these levels.
std::unique_ptr<ShardAssembly> AssembleZarrShard(ZarrFormatLevelsPtr levels,
                                                 const std::vector<AssembledChunk>& chunks);
// ShardFormat::Append. A null pointer where only AssembleZarrShard is possible.
std::unique_ptr<ShardAssembly> AppendToZarrShard(ZarrFormatLevelsPtr levels,
                                                 const std::vector<AssembledChunk>& chunks,
                                                 std::uint64_t base_size);

}  // namespace unshard
