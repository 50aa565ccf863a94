// Names of precomputed chunks: volumes, annotations, skeletons, meshes.
#pragma once

#include <memory>

#include "codec/grid/chunk_names.h"
#include "codec/precomputed/info.h"

namespace unshard {

// All files are in one directory. Where the entries of the shards are gzip members, each chunk,
// except of meshes, also has the name "<name>.gz", because web servers serve such files as they
// are. Never null.
std::unique_ptr<const ChunkNames> MakePrecomputedNames(const ShardedDirectory& directory);

}  // namespace unshard
