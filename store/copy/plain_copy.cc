#include "store/copy/plain_copy.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "store/copy/try_each.h"
#include "store/object/key.h"

namespace unshard {

std::string PlainCopy::KeyOf(const ShardSlot& slot) const {
  const ShardedTree& tree = *parts_.maker->to().tree;
  return JoinPath(tree.directory(), tree.shards().keys().Key(slot.shard));
}

Status PlainCopy::Run(const CopyTask& task) {
  UNSHARD_ASSIGN_OR_RETURN(ChunkPlan plan, parts_.maker->Plan(task.slots));
  if (!parts_.was_empty) UNSHARD_RETURN_IF_ERROR(KeepPresent(task, plan));
  for (std::size_t at = 0; at < plan.made.size();) {
    const std::size_t count = parts_.maker->BatchAt(plan, at);
    UNSHARD_RETURN_IF_ERROR(Put(plan, at, count));
    at += count;
  }
  return {};
}

// What the source has, where it is to be replaced; and what the source lacks, where that is to be
// removed: no time tells when the source lost it.
bool PlainCopy::IsMadeAnew(const ChunkPlan::Made& made) const {
  const CopyMode& mode = parts_.mode;
  return (mode.replaces && !made.sources.empty()) || (mode.removes && made.partial);
}

// Leaves in the plan what is not there yet. Both lists of slots have one order.
Status PlainCopy::KeepPresent(const CopyTask& task, ChunkPlan& plan) {
  std::vector<std::size_t> number(task.slots.size(), plan.made.size());
  for (std::size_t i = 0, made = 0; i < task.slots.size() && made < plan.made.size(); ++i) {
    if (plan.made[made].slot == task.slots[i]) number[i] = made++;
  }
  std::vector<char> kept(plan.made.size(), 0);
  UNSHARD_RETURN_IF_ERROR(
      TryEachInParallel(task.slots.size(), limits_.writing_threads, [&](std::size_t i) -> Status {
        const std::string key = KeyOf(task.slots[i]);
        const std::size_t made = number[i];
        const bool wanted = made < plan.made.size();
        if (wanted && IsMadeAnew(plan.made[made])) return {};
        ChunkFiles::Wanted like;
        if (wanted) like = {parts_.maker->SizeOf(plan, made), ChunkMaker::ModifiedOf(plan, made)};
        UNSHARD_ASSIGN_OR_RETURN(const bool there, parts_.files->Has(key, like));
        if (wanted) kept[made] = there ? 1 : 0;
        if (!there || wanted) return {};
        (parts_.mode.removes ? parts_.counters->removed_chunks : parts_.counters->extra_chunks) +=
            1;
        return parts_.mode.removes ? parts_.files->Remove(key) : Status();
      }));
  parts_.counters->kept_chunks += static_cast<std::uint64_t>(std::ranges::count(kept, 1));
  std::size_t at = 0;
  std::erase_if(plan.made, [&](const ChunkPlan::Made&) { return kept[at++] != 0; });
  return {};
}

Status PlainCopy::Put(const ChunkPlan& plan, std::size_t first, std::size_t count) {
  UNSHARD_ASSIGN_OR_RETURN(const auto made, parts_.maker->Make(plan, first, count));
  return TryEachInParallel(count, limits_.writing_threads, [&](std::size_t i) -> Status {
    const std::string key = KeyOf(plan.made[first + i].slot);
    if (!made[i]) return parts_.was_empty ? Status() : parts_.files->Remove(key);
    UNSHARD_RETURN_IF_ERROR(parts_.files->Put(key, *made[i]));
    parts_.counters->chunks += 1;
    parts_.counters->bytes += made[i]->size();
    return {};
  });
}

}  // namespace unshard
