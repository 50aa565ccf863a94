// Trees of the precomputed format: volumes, annotations, skeletons, meshes.
#pragma once

#include <memory>

#include "codec/precomputed/info.h"
#include "store/chunks/sharded_tree.h"

namespace unshard {

// `locator`: of directories whose chunks have cells; null where they have ids. `with_most_bits`:
// the one whose ids have the most bits, where it is not decided yet by which of two they were
// written; null: `locator`.
std::unique_ptr<ShardedTree> MakePrecomputedTree(
    std::uint32_t ordinal, std::shared_ptr<ShardSet> shards, std::shared_ptr<ChunkReader> reader,
    const ShardedDirectory& directory, std::shared_ptr<const ChunkLocator> locator,
    std::shared_ptr<ObjectStore> store,
    std::shared_ptr<const ChunkLocator> with_most_bits = nullptr);

}  // namespace unshard
