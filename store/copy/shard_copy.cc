#include "store/copy/shard_copy.h"

#include <algorithm>
#include <future>
#include <system_error>
#include <utility>

#include "store/copy/left_locks.h"
#include "store/copy/present_chunks.h"
#include "store/object/key.h"
#include "store/object/time_now.h"
#include "store/shard/object.h"

namespace unshard {
namespace {

PublisherOptions PublishingWithin(const CopyLimits& limits) {
  PublisherOptions options;
  options.max_index_bytes = limits.index_bytes;
  options.max_whole_shard_bytes = limits.whole_shard_bytes;
  options.max_chunk_bytes = limits.chunk_bytes;
  return options;
}

template <class T>
auto PlaceOf(const T& one) {
  return std::make_tuple(one.page, one.slot);
}

// The chunks of a plan, made some at a time as the shard is written: the next ones while these are.
class Feed {
 public:
  Feed(const ChunkMaker& maker, const ChunkPlan& plan) : maker_(maker), plan_(plan) {}

  // In ascending order: what goes back makes the batch there again.
  Result<Bytes> Get(std::size_t number) {
    if (number < first_ || number >= first_ + batch_.size()) {
      batch_.clear();
      UNSHARD_ASSIGN_OR_RETURN(batch_, Take(number));
      first_ = number;
      MakeAhead(first_ + batch_.size());
    }
    if (batch_[number - first_]) return *batch_[number - first_];
    return Fail(ErrorCode::kInternal, "expected a chunk of a size that is known");
  }

 private:
  using Batch = std::vector<std::optional<Bytes>>;

  [[nodiscard]] Result<Batch> Make(std::size_t first) const {
    return maker_.Make(plan_, first, maker_.BatchAt(plan_, first));
  }

  Result<Batch> Take(std::size_t first) {
    const bool is_next = first == ahead_first_;
    std::future<Result<Batch>> ahead = std::move(ahead_);
    return ahead.valid() && is_next ? ahead.get() : Make(first);
  }

  // Where the system allows no more threads they are made when they are needed.
  void MakeAhead(std::size_t first) {
    if (first >= plan_.made.size()) return;
    ahead_first_ = first;
    try {
      ahead_ = std::async(std::launch::async, [this, first] { return Make(first); });
    } catch (const std::system_error&) {
      ahead_ = {};
    }
  }

  const ChunkMaker& maker_;
  const ChunkPlan& plan_;
  std::size_t first_ = 0;
  Batch batch_;
  std::size_t ahead_first_ = 0;
  std::future<Result<Batch>> ahead_;  // its destructor waits for the call
};

// One of those that make chunks at a time; waits for its turn.
class MakersTurn {
 public:
  explicit MakersTurn(std::counting_semaphore<>& making) : making_(making) { making_.acquire(); }
  ~MakersTurn() { making_.release(); }
  MakersTurn(const MakersTurn&) = delete;
  MakersTurn& operator=(const MakersTurn&) = delete;

 private:
  std::counting_semaphore<>& making_;
};

}  // namespace

// `chunks`: only those that are planned as well.
struct ShardCopy::Present : PresentShard {
  std::vector<StoredChunk> extra;  // that the source lacks
  std::size_t kept = 0;            // these it lacks too, and they would get its fill value
};

ShardCopy::ShardCopy(Parts parts, const CopyLimits& limits)
    : parts_(std::move(parts)),
      limits_(limits),
      publisher_(parts_.replacer, PublishingWithin(limits)) {}

Result<ShardCopy::Present> ShardCopy::ReadPresent(const CopyTask& task, const std::string& key,
                                                  ChunkPlan& plan) const {
  UNSHARD_ASSIGN_OR_RETURN(PresentShard read, ReadPresentShard(*parts_.store, parts_.maker->to(),
                                                               task.shard, key, limits_));
  const std::vector<StoredChunk> stored = std::exchange(read.chunks, {});
  Present present{std::move(read), {}, 0};
  std::vector<bool> stays(plan.made.size(), false);
  std::size_t next = 0;
  for (const StoredChunk& chunk : stored) {
    while (next < plan.made.size() && PlaceOf(plan.made[next].slot) < PlaceOf(chunk)) ++next;
    const bool is_planned =
        next < plan.made.size() && PlaceOf(plan.made[next].slot) == PlaceOf(chunk);
    if (is_planned && !parts_.mode.removes && plan.made[next].sources.empty()) {
      stays[next] = true;
      ++present.kept;
      continue;
    }
    (is_planned ? present.chunks : present.extra).push_back(chunk);
  }
  std::size_t at = 0;
  std::erase_if(plan.made, [&](const ChunkPlan::Made&) { return stays[at++]; });
  return present;
}

// Step 1.
Result<bool> ShardCopy::Holds(const Present& present, const ChunkPlan& plan) const {
  if (present.missing || present.chunks.size() != plan.made.size()) return false;
  if (parts_.mode.replaces && !plan.made.empty()) return false;
  if (parts_.mode.removes && !present.extra.empty()) return false;
  // No time tells when the source lost a chunk.
  const auto is_partial = [](const ChunkPlan::Made& made) { return made.partial; };
  if (parts_.mode.removes && std::ranges::any_of(plan.made, is_partial)) return false;
  for (std::size_t i = 0; i < plan.made.size(); ++i) {
    const StoredChunk& chunk = present.chunks[i];
    if (PlaceOf(chunk) != PlaceOf(plan.made[i].slot) || chunk.range == kDamagedRange) return false;
    const auto size = parts_.maker->SizeOf(plan, i);
    if (size && *size != chunk.range.size) return false;
    if (IsLater(ChunkMaker::ModifiedOf(plan, i), present.modified)) return false;
  }
  if (plan.made.empty()) return true;
  for (const std::size_t i : {std::size_t{0}, plan.made.size() - 1}) {
    UNSHARD_ASSIGN_OR_RETURN(const auto made, parts_.maker->Make(plan, i, 1));
    UNSHARD_ASSIGN_OR_RETURN(const Bytes there, present.object->Read(present.chunks[i].range));
    if (!made.front() || !std::ranges::equal(made.front()->span(), there.span())) return false;
  }
  return true;
}

Status ShardCopy::Run(const CopyTask& task) {
  const ShardedTree& tree = *parts_.maker->to().tree;
  const std::string key = JoinPath(tree.directory(), tree.shards().keys().Key(task.shard));
  UNSHARD_ASSIGN_OR_RETURN(ChunkPlan plan, parts_.maker->Plan(task.slots));
  UNSHARD_ASSIGN_OR_RETURN(const Present present, ReadPresent(task, key, plan));
  CountExtra(present);
  if (present.missing && plan.made.empty()) return {};
  UNSHARD_ASSIGN_OR_RETURN(const bool holds, Holds(present, plan));
  if (holds) return Keep(key, plan.made.size());
  bool sized = true;
  for (std::size_t i = 0; sized && i < plan.made.size(); ++i) {
    sized = parts_.maker->SizeOf(plan, i).has_value();
  }
  return sized ? CopyStored(task, key, plan, present) : CopyMade(task, key, plan, present);
}

void ShardCopy::CountExtra(const Present& present) const {
  CopyCounters& counters = *parts_.counters;
  (parts_.mode.removes ? counters.removed_chunks : counters.extra_chunks) += present.extra.size();
  counters.kept_chunks += present.kept;
}

// A copy that was killed right after it had replaced the shard has left its lock file.
Status ShardCopy::Keep(const std::string& key, std::size_t chunks) {
  parts_.counters->kept_shards += 1;
  parts_.counters->kept_chunks += chunks;
  if (!parts_.files) return {};
  return RemoveLeftLocks(*parts_.files, *parts_.replacer, key);
}

Status ShardCopy::CopyStored(const CopyTask& task, const std::string& key, const ChunkPlan& plan,
                             const Present& present) {
  Feed feed(*parts_.maker, plan);
  std::vector<ShardChange> changes;
  changes.reserve(plan.made.size());
  for (std::size_t i = 0; i < plan.made.size(); ++i) {
    ShardChange change;
    change.page = plan.made[i].slot.page;
    change.slot = plan.made[i].slot.slot;
    change.size = *parts_.maker->SizeOf(plan, i);
    change.stored = [&feed, i] { return feed.Get(i); };
    change.expected.unknown = true;
    changes.push_back(std::move(change));
  }
  return Publish(task, key, std::move(changes), present);
}

// `staged` receives what they refer to.
Result<std::vector<ShardChange>> ShardCopy::MakeAll(const ChunkPlan& plan,
                                                    StagedChunks& staged) const {
  std::vector<ShardChange> changes;
  for (std::size_t at = 0; at < plan.made.size();) {
    const std::size_t count = parts_.maker->BatchAt(plan, at);
    UNSHARD_ASSIGN_OR_RETURN(const auto made, parts_.maker->Make(plan, at, count));
    for (std::size_t i = 0; i < count; ++i) {
      if (!made[i]) continue;
      ShardChange change;
      change.page = plan.made[at + i].slot.page;
      change.slot = plan.made[at + i].slot.slot;
      change.size = made[i]->size();
      change.stored = [&staged, number = staged.count()] { return staged.Get(number); };
      change.expected.unknown = true;
      UNSHARD_RETURN_IF_ERROR(staged.Add(*made[i]));
      changes.push_back(std::move(change));
    }
    at += count;
  }
  return changes;
}

Status ShardCopy::CopyMade(const CopyTask& task, const std::string& key, const ChunkPlan& plan,
                           const Present& present) {
  StagedChunks staged(limits_.staged_bytes);
  std::vector<ShardChange> changes;
  {
    const MakersTurn turn(*parts_.making);
    UNSHARD_ASSIGN_OR_RETURN(changes, MakeAll(plan, staged));
  }
  if (present.missing && changes.empty()) return {};
  bool same = !present.missing && !(parts_.mode.replaces && !changes.empty()) &&
              changes.size() == present.chunks.size() &&
              !(parts_.mode.removes && !present.extra.empty());
  for (std::size_t i = 0; same && i < changes.size(); ++i) {
    const StoredChunk& there = present.chunks[i];
    same = PlaceOf(there) == PlaceOf(changes[i]) && there.range.size == changes[i].size;
    if (!same) break;
    UNSHARD_ASSIGN_OR_RETURN(const Bytes now, present.object->Read(there.range));
    UNSHARD_ASSIGN_OR_RETURN(const Bytes made, staged.Get(i));
    same = std::ranges::equal(now.span(), made.span());
  }
  if (same) return Keep(key, changes.size());
  return Publish(task, key, std::move(changes), present);
}

Status ShardCopy::Publish(const CopyTask& task, const std::string& key,
                          std::vector<ShardChange> changes, const Present& present) {
  const ShardSet& shards = parts_.maker->to().tree->shards();
  const std::size_t put = changes.size();
  std::uint64_t bytes = 0;
  for (const ShardChange& change : changes) bytes += change.size;
  std::size_t next = 0;
  const auto remove = [&changes](const StoredChunk& chunk) {
    ShardChange removal;
    removal.page = chunk.page;
    removal.slot = chunk.slot;
    removal.removed = true;
    removal.expected.unknown = true;
    changes.push_back(std::move(removal));
  };
  // What the source has, with nothing but the fill value, is not stored.
  for (const StoredChunk& chunk : present.chunks) {
    while (next < put && PlaceOf(changes[next]) < PlaceOf(chunk)) ++next;
    if (next == put || PlaceOf(changes[next]) != PlaceOf(chunk)) remove(chunk);
  }
  if (parts_.mode.removes) std::ranges::for_each(present.extra, remove);
  PublishRequest request;
  request.object.key = key;
  if (auto pair = shards.keys().ObsoletePair(task.shard)) {
    const std::string& directory = shards.directory();
    request.object.obsolete = {JoinPath(directory, pair->index), JoinPath(directory, pair->data)};
  }
  request.shard = task.shard;
  request.format = &shards.format();
  request.changes = std::move(changes);
  UNSHARD_RETURN_IF_ERROR(publisher_.Publish(request));
  parts_.counters->shards += 1;
  parts_.counters->chunks += put;
  parts_.counters->bytes += bytes;
  return {};
}

}  // namespace unshard
