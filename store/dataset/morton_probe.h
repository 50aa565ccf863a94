// Which rule the chunk ids of a volume were written by, where metadata cannot tell.
#pragma once

#include <memory>
#include <optional>

#include "codec/grid/morton.h"
#include "codec/precomputed/info.h"
#include "codec/shard/chunk_locator.h"
#include "store/object/object_store.h"
#include "store/shard/set.h"

namespace unshard {

// Looks at ids that are stored in a few shards: kLegacy if some of them lie outside the grid by the
// standard rule and all lie inside by the legacy one, else kStandard. Where no id was found: fails
// where some shards could not be read; nothing where the store denied some, as many do for what is
// missing.
Result<std::optional<MortonRule>> DetectMortonRule(ObjectStore& store, ShardSet& shards,
                                                   const ShardedDirectory& directory);

// The locators of a directory by either rule.
struct MortonLocators {
  std::shared_ptr<const ChunkLocator> standard;
  std::shared_ptr<const ChunkLocator> legacy;
};
// A locator that finds out which of the two rules holds. It does so when it is first asked for a
// cell or a slot for which they differ: a mount that looks at no such chunk sends no request. The
// call then waits for the store as DetectMortonRule does. If that fails, it throws CallFailed,
// since by the wrong rule another chunk would be read, or replaced. If it finds nothing, the call
// goes by the standard rule. The next call asks again in both cases. Thread-safe.
std::shared_ptr<const ChunkLocator> MakeDetectedLocator(MortonLocators locators,
                                                        std::shared_ptr<ObjectStore> store,
                                                        std::shared_ptr<ShardSet> shards,
                                                        const ShardedDirectory& directory);

// Whether the rules give different codes in a grid of this shape.
bool MortonRulesDiffer(const ShardedDirectory& directory);

}  // namespace unshard
