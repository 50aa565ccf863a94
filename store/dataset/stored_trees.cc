#include "store/dataset/stored_trees.h"

#include <utility>

#include "codec/precomputed/access.h"
#include "store/chunks/plain_tree.h"
#include "store/chunks/precomputed_tree.h"
#include "store/chunks/zarr_tree.h"
#include "store/dataset/layout.h"
#include "store/dataset/morton_probe.h"
#include "store/object/log.h"

namespace unshard {

Result<std::shared_ptr<ShardedTree>> StoredTrees::Share(const StoredAs& stored, const Make& make) {
  const PathLocks::Guard guard(sharing_, stored.directory);
  {
    const std::lock_guard lock(shared_mutex_);
    for (const Shared& known : shared_[stored.directory]) {
      const auto tree = known.tree.lock();
      const bool serves = tree && !tree->retired();
      if (serves && SameJson(known.layout, stored.stored_layout)) return tree;
    }
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto made, make());
  const std::lock_guard lock(shared_mutex_);
  std::vector<Shared>& here = shared_[stored.directory];
  std::erase_if(here, [](const Shared& known) { return known.tree.expired(); });
  here.push_back({stored.stored_layout, made});
  return made;
}

Result<std::shared_ptr<ShardedTree>> StoredTrees::OpenZarr(const std::string& path,
                                                           const ZarrShardedArray& array) {
  const auto shards = MakeShards(path, array.format, array.keys);
  std::shared_ptr<ShardedTree> made =
      MakeZarrTree(NextOrdinal(), shards, parts_.reader, array, parts_.store);
  made->SetUnpublished(parts_.unpublished);
  return made;
}

Result<std::shared_ptr<ShardedTree>> StoredTrees::OpenLevel(const ViewSource::Level& level,
                                                            const Array& array) {
  if (level.precomputed_shards) return OpenPrecomputed(level.directory, *level.precomputed_shards);
  if (level.zarr_shards) return OpenZarr(level.directory, *level.zarr_shards);
  // In the view that passes these objects through, programs write them by their own names. So that
  // what is presented otherwise is that at once, each look-up of a writable mount revalidates.
  ShardSetOptions options = parts_.shards;
  if (parts_.shared && parts_.unpublished) options.ttl_milliseconds = 0;
  const auto watcher = parts_.shared ? nullptr : parts_.watcher;
  const auto make = [&](std::shared_ptr<ObjectStore> objects, auto format, auto keys) {
    return std::make_shared<ShardSet>(std::move(objects), level.directory, std::move(format),
                                      std::move(keys), watcher, parts_.cache, options);
  };
  UNSHARD_ASSIGN_OR_RETURN(const auto tree, MakePlainTree(NextOrdinal(), array, make, parts_.reader,
                                                          parts_.store, parts_.max_chunk_bytes));
  tree->SetUnpublished(parts_.unpublished);
  return tree;
}

std::shared_ptr<ShardSet> StoredTrees::MakeShards(const std::string& directory,
                                                  std::shared_ptr<const ShardFormat> format,
                                                  std::shared_ptr<const ShardKeys> keys) {
  return std::make_shared<ShardSet>(parts_.store, directory, std::move(format), std::move(keys),
                                    parts_.watcher, parts_.cache, parts_.shards);
}

Result<std::shared_ptr<ShardedTree>> StoredTrees::OpenPrecomputed(const std::string& directory,
                                                                  const ShardedDirectory& sharded) {
  const auto annotate = [&](const Error& error) { return Forward(error, sharded.json_path); };
  const bool is_legacy = parts_.morton == MortonChoice::kLegacy;
  const auto access = MakeAccess(sharded, is_legacy ? MortonRule::kLegacy : MortonRule::kStandard);
  if (!access) return annotate(access.error());
  const auto shards = MakeShards(directory, access->format, access->keys);
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

std::uint32_t StoredTrees::NextOrdinal() { return next_ordinal_.fetch_add(1); }

}  // namespace unshard
