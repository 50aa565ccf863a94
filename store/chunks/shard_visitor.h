// The shards of a tree that are in the store.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "store/chunks/sharded_tree.h"
#include "store/object/object_store.h"

namespace unshard {

// Gets a shard and its key below the tree's directory; false ends the visit.
using ShardVisitor = std::function<Result<bool>(std::uint64_t shard, const std::string& key)>;

// Lists the tree's directory and all below it or, where the store cannot list, asks for each shard:
// then at most ShardProbe::kMostShards may exist. False where the visitor has ended it; fails where
// the visitor or a listing fails.
Result<bool> VisitShards(ObjectStore& store, const ShardedTree& tree, const ShardVisitor& visitor);

}  // namespace unshard
