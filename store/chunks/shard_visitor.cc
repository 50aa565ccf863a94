#include "store/chunks/shard_visitor.h"

#include <vector>

#include "store/chunks/shard_probe.h"
#include "store/object/key.h"

namespace unshard {
namespace {

Result<bool> VisitBelow(ObjectStore& store, const ShardedTree& tree, const std::string& below,
                        const ShardVisitor& visitor) {
  std::vector<std::string> deeper;
  Result<bool> more = true;
  UNSHARD_RETURN_IF_ERROR(
      store.List(JoinPath(tree.directory(), below), CallerDeadline(), [&](const ListEntry& entry) {
        const std::string key = JoinPath(below, entry.name);
        if (entry.kind == ObjectInfo::Kind::kDirectory) {
          deeper.push_back(key);
          return true;
        }
        const auto shard = tree.shards().keys().Parse(key);
        if (shard) more = visitor(*shard, key);
        return more.value_or(false);
      }));
  for (const std::string& key : deeper) {
    if (!more || !*more) break;
    more = VisitBelow(store, tree, key, visitor);
  }
  return more;
}

}  // namespace

Result<bool> VisitShards(ObjectStore& store, const ShardedTree& tree, const ShardVisitor& visitor) {
  if (store.capabilities().lists) return VisitBelow(store, tree, "", visitor);
  UNSHARD_ASSIGN_OR_RETURN(const auto shards,
                           ShardProbe(tree.shards()).List(tree.ShardEnd(), true));
  for (const std::uint64_t shard : *shards) {
    const Result<bool> more = visitor(shard, tree.shards().keys().Key(shard));
    if (!more || !*more) return more;
  }
  return true;
}

}  // namespace unshard
