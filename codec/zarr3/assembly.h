// Assemblies of sharding_indexed shards, for MakeZarrShardFormat.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "codec/shard/assembly.h"
#include "codec/zarr3/index.h"

namespace unshard {

// ShardFormat::Assemble. The result refers to `levels`.
std::unique_ptr<ShardAssembly> AssembleZarrShard(const ZarrFormatLevels& levels,
                                                 const std::vector<AssembledChunk>& chunks);
// ShardFormat::Append. A null pointer where only AssembleZarrShard is possible. The result refers
// to `levels`.
std::unique_ptr<ShardAssembly> AppendToZarrShard(const ZarrFormatLevels& levels,
                                                 const std::vector<AssembledChunk>& chunks,
                                                 std::uint64_t base_size);

}  // namespace unshard
