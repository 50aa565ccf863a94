#include "store/dataset/level_trees.h"

#include <utility>

#include "codec/precomputed/access.h"
#include "store/chunks/plain_tree.h"
#include "store/chunks/precomputed_tree.h"
#include "store/chunks/zarr_tree.h"
#include "store/dataset/morton_probe.h"

namespace unshard {

std::shared_ptr<ShardSet> LevelTrees::MakeShards(std::shared_ptr<ObjectStore> objects,
                                                 const std::string& directory,
                                                 std::shared_ptr<const ShardFormat> format,
                                                 std::shared_ptr<const ShardKeys> keys) {
  return std::make_shared<ShardSet>(std::move(objects), directory, std::move(format),
                                    std::move(keys), parts_.watcher, parts_.cache, parts_.shards);
}

Result<std::shared_ptr<ShardedTree>> LevelTrees::Open(const ViewSource::Level& level,
                                                      const ArrayMetadata& array) {
  if (level.precomputed_shards) return OpenPrecomputed(level.directory, *level.precomputed_shards);
  if (level.zarr_shards) return OpenZarr(level.directory, *level.zarr_shards);
  const auto make = [&](std::shared_ptr<ObjectStore> objects, auto format, auto keys) {
    return MakeShards(std::move(objects), level.directory, std::move(format), std::move(keys));
  };
  return MakePlainTree(NextOrdinal(), array, make, parts_.reader, parts_.store,
                       parts_.max_chunk_bytes);
}

std::shared_ptr<ShardedTree> LevelTrees::OpenZarr(const std::string& directory,
                                                  const ZarrShardedArray& array) {
  const auto shards = MakeShards(parts_.store, directory, array.format, array.keys);
  std::shared_ptr<ShardedTree> made =
      MakeZarrTree(NextOrdinal(), shards, parts_.reader, array, parts_.store);
  made->SetUnpublished(parts_.unpublished);
  return made;
}

Result<std::shared_ptr<ShardedTree>> LevelTrees::OpenPrecomputed(const std::string& directory,
                                                                 const ShardedDirectory& sharded) {
  const auto annotate = [&](const Error& error) { return Forward(error, sharded.json_path); };
  const bool is_legacy = parts_.morton == MortonChoice::kLegacy;
  const auto access = MakeAccess(sharded, is_legacy ? MortonRule::kLegacy : MortonRule::kStandard);
  if (!access) return annotate(access.error());
  const auto shards = MakeShards(parts_.store, directory, access->format, access->keys);
  std::shared_ptr<const ChunkLocator> locator = access->locator, with_most_bits;
  if (locator && parts_.morton == MortonChoice::kDetect && MortonRulesDiffer(sharded)) {
    const auto legacy = MakeAccess(sharded, MortonRule::kLegacy);
    if (!legacy) return annotate(legacy.error());
    with_most_bits = legacy->locator;
    locator = MakeDetectedLocator({locator, with_most_bits}, parts_.store, shards, sharded);
  }
  const std::shared_ptr<ShardedTree> tree =
      MakePrecomputedTree(NextOrdinal(), shards, parts_.reader, sharded, std::move(locator),
                          parts_.store, std::move(with_most_bits));
  tree->SetUnpublished(parts_.unpublished);
  return tree;
}

}  // namespace unshard
