// Names of precomputed chunks: volumes, annotations, skeletons, meshes.
#pragma once

#include <memory>

#include "codec/grid/chunk_names.h"
#include "codec/precomputed/info.h"

namespace unshard {

// All names are in one directory. Where the shards hold gzip members, those of a mesh apart,
// "<name>.gz" shows them to servers that serve such files.
std::unique_ptr<const ChunkNames> MakePrecomputedNames(const ShardedDirectory& directory);

}  // namespace unshard
