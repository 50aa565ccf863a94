// The format, shard keys and locator of a sharded directory of a precomputed dataset.
#pragma once

#include <memory>

#include "codec/grid/morton.h"
#include "codec/precomputed/info.h"
#include "codec/shard/chunk_locator.h"
#include "codec/shard/format.h"

namespace unshard {

struct ShardedDirectoryAccess {
  std::shared_ptr<const ShardFormat> format;
  std::shared_ptr<const ShardKeys> keys;
  // Null for kIds and kMeshes, where the slot is the id.
  std::shared_ptr<const ChunkLocator> locator;
};
// `rule` numbers the cells of a grid. Fails with kDataLoss where the Morton code of the grid needs
// more than 64 bits. Pure function; the members of the result are immutable and thread-safe.
Result<ShardedDirectoryAccess> MakeAccess(const ShardedDirectory& directory, MortonRule rule);

}  // namespace unshard
