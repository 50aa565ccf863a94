// Which rule the chunk ids of a volume were written by, where metadata cannot tell.
#pragma once

#include "codec/grid/morton.h"
#include "codec/precomputed/info.h"
#include "store/object/object_store.h"
#include "store/shard/set.h"

namespace unshard {

// Looks at ids that are stored in a few shards: kLegacy if some of them lie outside the grid by the
// standard rule and all lie inside by the legacy one, else kStandard. Costs no I/O where both rules
// give the same code. Shards that cannot be read are passed over.
MortonRule DetectMortonRule(ObjectStore& store, ShardSet& shards,
                            const ShardedDirectory& directory);

}  // namespace unshard
