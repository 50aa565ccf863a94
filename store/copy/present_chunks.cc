#include "store/copy/present_chunks.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "store/chunks/shard_visitor.h"
#include "store/copy/try_each.h"
#include "store/object/key.h"

namespace unshard {
namespace {

// Unsharded chunks that are looked up in the source at a time.
constexpr std::size_t kChunksAtATime = 1024;

// How many of the chunks at these slots the source lacks.
Result<std::uint64_t> ExtraAt(const ChunkMaker& maker, const std::vector<ShardSlot>& slots) {
  UNSHARD_ASSIGN_OR_RETURN(const ChunkPlan plan, maker.Plan(slots));
  return slots.size() - plan.made.size();
}

Result<std::uint64_t> ExtraInShard(ObjectStore& store, const ChunkMaker& maker,
                                   std::uint64_t shard) {
  const ShardedTree& tree = *maker.to().tree;
  const std::string key = JoinPath(tree.directory(), tree.shards().keys().Key(shard));
  UNSHARD_ASSIGN_OR_RETURN(const PresentShard present,
                           ReadPresentShard(store, maker.to(), shard, key, maker.limits()));
  std::vector<ShardSlot> slots;
  for (const StoredChunk& chunk : present.chunks) slots.push_back({shard, chunk.page, chunk.slot});
  return ExtraAt(maker, slots);
}

Result<std::uint64_t> ExtraInShards(ObjectStore& store, const ChunkMaker& maker,
                                    const std::vector<std::uint64_t>& shards) {
  std::atomic<std::uint64_t> extra{0};
  const std::size_t together = maker.to().sharded ? 1 : kChunksAtATime;
  const std::size_t parts = (shards.size() + together - 1) / together;
  UNSHARD_RETURN_IF_ERROR(
      TryEachInParallel(parts, maker.limits().reading_threads, [&](std::size_t part) -> Status {
        if (maker.to().sharded) {
          UNSHARD_ASSIGN_OR_RETURN(const auto in_shard, ExtraInShard(store, maker, shards[part]));
          extra += in_shard;
          return {};
        }
        std::vector<ShardSlot> slots;
        const std::size_t end = std::min(shards.size(), (part + 1) * together);
        for (std::size_t i = part * together; i < end; ++i) slots.push_back({shards[i], 0, 0});
        UNSHARD_ASSIGN_OR_RETURN(const auto in_slots, ExtraAt(maker, slots));
        extra += in_slots;
        return {};
      }));
  return extra.load();
}

}  // namespace

Result<PresentShard> ReadPresentShard(ObjectStore& store, const StoredArray& to,
                                      std::uint64_t shard, const std::string& key,
                                      const CopyLimits& limits) {
  const ShardFormat& format = to.tree->shards().format();
  UNSHARD_ASSIGN_OR_RETURN(auto opened, store.Open(key, RangeRequest::At(0, 0), CallerDeadline()));
  PresentShard present;
  present.missing = !opened.version;
  if (opened.version) present.modified = opened.version->info().modified;
  const ShardObject object(store.Describe(key), std::move(opened.version));
  UNSHARD_ASSIGN_OR_RETURN(present.object, object.Decoded(format, limits.whole_shard_bytes));
  auto index = present.object->ReadIndex(format, shard, limits.index_bytes);
  if (!index) {
    Error error = std::move(index).error();
    if (error.code == ErrorCode::kDataLoss) error.message += kRemoveDamagedShard;
    return tl::unexpected<Error>(std::move(error));
  }
  present.chunks = std::move(index->chunks);
  return present;
}

Status CountPresent(ObjectStore& store, const ChunkMaker& maker, std::uint64_t most,
                    bool counts_extra, PresentChunks& counted) {
  if (!store.capabilities().lists) return {};
  std::vector<std::uint64_t> shards;
  const auto visit = [&](std::uint64_t shard, const std::string&) -> Result<bool> {
    if (counted.shards + counted.chunks + shards.size() >= most) {
      counted.has_more = true;
      return false;
    }
    shards.push_back(shard);
    return true;
  };
  UNSHARD_RETURN_IF_ERROR(VisitShards(store, *maker.to().tree, visit));
  // NAME and NAME.gz are one.
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  (maker.to().sharded ? counted.shards : counted.chunks) += shards.size();
  if (!counts_extra) return {};
  if (counted.has_more || !counted.extra) {
    counted.extra = std::nullopt;
    return {};
  }
  const auto extra = ExtraInShards(store, maker, shards);
  if (extra) {
    *counted.extra += *extra;
  } else if (extra.error().code == ErrorCode::kDataLoss) {
    counted.extra = std::nullopt;
  } else {
    return tl::unexpected<Error>(extra.error());
  }
  return {};
}

}  // namespace unshard
