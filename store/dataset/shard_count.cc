#include "store/dataset/shard_count.h"

#include "store/chunks/shard_probe.h"
#include "store/chunks/shard_visitor.h"
#include "store/object/key.h"

namespace unshard {
namespace {

void AddUnreadable(std::string path, std::string why, ShardCount& count) {
  count.chunks_complete = false;
  if (++count.unreadable_shards > ShardCount::kMostNamed) return;
  count.unreadable.push_back({std::move(path), std::move(why)});
}

// What fits into precomputed shards is counted id by id: no more than about a second's worth.
constexpr std::uint64_t kMostCountedIds = std::uint64_t{1} << 26;

}  // namespace

ShardCount CountShards(ObjectStore& store, ShardedTree& tree, std::uint64_t cost) {
  ShardCount count;
  if (!store.capabilities().lists && tree.ShardEnd() > ShardProbe::kMostShards) {
    count.complete = false;
    return count;
  }
  const auto add = [&](std::uint64_t shard, const std::string& key) -> Result<bool> {
    if (++count.shards > kMostCountedShards) return count.complete = false;
    count.fitting_known = count.fitting_known && count.shards <= kMostCountedIds / cost;
    const std::uint64_t fitting = count.fitting_known ? tree.ChunksInShard(shard) : 0;
    count.fitting_known = fitting > 0;
    count.fitting += fitting;
    const auto generation = tree.shards().Current(shard, CallerDeadline());
    const Status counted =
        generation ? tree.ForEachPresent(*generation, [&](const ChunkRef&) { ++count.chunks; })
                   : Status(tl::unexpected<Error>(generation.error()));
    if (!counted) {
      AddUnreadable(JoinPath(tree.directory(), key), counted.error().message, count);
    }
    return true;
  };
  if (!VisitShards(store, tree, add)) count.chunks_complete = false;
  return count;
}

}  // namespace unshard
