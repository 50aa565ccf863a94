#include "store/dataset/write_pipeline.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "store/dataset/memory_shares.h"
#include "store/dataset/spool_replay.h"

namespace unshard {
namespace {

constexpr int kRoomTries = 64;  // where other writers take the room that was waited for

PublisherOptions LimitsOf(const VolumeOptions& options) {
  return MemoryShares(options.memory_bytes).publisher();
}

PublishQueueOptions QueueOptions(const VolumeOptions& options, const Spool& spool) {
  PublishQueueOptions queue;
  queue.publish_after = std::chrono::milliseconds(options.publish_after_milliseconds);
  queue.threads = options.publish_threads;
  queue.high_water_bytes = spool.options().max_bytes / 2;
  queue.high_water_files = spool.options().max_files / 2;
  return queue;
}

ShardPublishing::Parts PublishingParts(const WritePipeline::Parts& parts,
                                       const VolumeOptions& options, SpooledVersions& versions,
                                       const CurrentChunks& current) {
  return {parts.replacer, parts.datasets,   parts.written,     &versions,
          &current,       parts.on_renewed, LimitsOf(options), options.strict};
}

}  // namespace

WritePipeline::WritePipeline(Parts parts, const VolumeOptions& options)
    : parts_(std::move(parts)),
      sync_(options.sync),
      checks_(parts_.written, LimitsOf(options)),
      current_(parts_.written),
      versions_(parts_.written, parts_.spools,
                [this](const DirtyShard& shard, std::int64_t chunks, std::int64_t bytes,
                       bool complete) { queue_.Add(shard, chunks, bytes, complete); }),
      committer_(spool(), parts_.written, parts_.datasets->index(), checks_, current_, versions_),
      publishing_(PublishingParts(parts_, options, versions_, current_)),
      queue_([this](const DirtyShard& shard) { return publishing_.Publish(shard); },
             QueueOptions(options, *spool())) {}

void WritePipeline::Replay() {
  SpoolReplay(*parts_.replacer, *parts_.datasets, checks_, current_, versions_).Run(parts_.spools);
}

Status WritePipeline::WaitForRoom(std::uint64_t bytes) {
  const std::shared_ptr<Spool>& own = spool();
  const auto has_room = [&] {
    const SpoolUsage used = own->usage();
    const std::uint64_t left =
        own->options().max_bytes - std::min(used.bytes, own->options().max_bytes);
    return bytes <= left && used.files < own->options().max_files;
  };
  if (has_room()) return {};
  return queue_.WaitForRoom(has_room, InterruptibleDeadline());
}

Result<WrittenVersionPtr> WritePipeline::CommitRemoval(const Commit& of) {
  auto removed = committer_.CommitRemoval(of);
  for (int i = 0; i < kRoomTries && !removed && removed.error().system_errno == ENOSPC; ++i) {
    if (!WaitForRoom(0)) return removed;
    removed = committer_.CommitRemoval(of);
  }
  return removed;
}

Status WritePipeline::Sync(const WrittenVersionPtr& version) {
  if (sync_ == SyncMode::kSpool) return SyncInSpool(version);
  return queue_.Flush({version->tree->ordinal(), version->chunk.slot.shard},
                      InterruptibleDeadline());
}

Status WritePipeline::SyncDirectory(const ChunkTree& tree, const GridDirectory& in) {
  const std::vector<WrittenVersionPtr> versions = parts_.written->Unsynced(tree, in);
  if (sync_ == SyncMode::kSpool) versions_.SyncTogether(versions);
  for (const WrittenVersionPtr& version : versions) UNSHARD_RETURN_IF_ERROR(Sync(version));
  return {};
}

Status WritePipeline::Flush(const ChunkTree& tree) {
  Status first;
  for (const std::uint64_t shard : parts_.written->Shards(tree.ordinal())) {
    const Status flushed = queue_.Flush({tree.ordinal(), shard}, InterruptibleDeadline());
    if (first && !flushed) first = flushed;
  }
  return first;
}

Status WritePipeline::Flush() {
  // Chunks of an array that has got another shape are adopted by its new tree, whose shards are
  // dirty from then on.
  for (;;) {
    const std::uint64_t before = versions_.adopted();
    const Status flushed = queue_.FlushAll(InterruptibleDeadline());
    if (!flushed || versions_.adopted() == before) return flushed;
  }
}

SpoolStatus WritePipeline::status() const {
  const PublishProgress progress = queue_.progress();
  const ShardPublishing::Counters& published = publishing_.counters();
  SpoolStatus status;
  status.spool = parts_.spool_path;
  status.dirty_chunks = progress.dirty_chunks;
  status.dirty_bytes = progress.dirty_bytes;
  status.dirty_shards = progress.dirty_shards;
  if (progress.oldest) {
    status.oldest_milliseconds = static_cast<std::uint64_t>(progress.oldest->count());
  }
  status.publishes = progress.publishes;
  status.bytes_published = published.bytes_published.load();
  status.conflicts = published.conflicts.load() + versions_.quarantined();
  status.lost = published.lost.load();
  status.running = progress.running;
  status.publish_failures = progress.failures;
  if (progress.last_error) status.last_failure = DescribeFailure(*progress.last_error);
  for (const auto& spool : parts_.spools) {
    const SpoolUsage usage = spool->usage();
    status.spool_bytes += usage.bytes;
    status.spool_files += usage.files;
    for (const SpooledChunk& chunk : spool->Conflicts()) {
      status.conflicting.push_back(
          {chunk.dataset, chunk.chunk, chunk.sequence, spool->DescribeConflict(chunk)});
    }
    for (const SpooledChunk& chunk : spool->Damaged()) {
      ++status.damaged;
      status.quarantined.push_back(
          {chunk.dataset, chunk.chunk, chunk.sequence, spool->DescribeDamaged(chunk)});
    }
  }
  status.max_spool_bytes = spool()->options().max_bytes;
  status.max_spool_files = spool()->options().max_files;
  return status;
}

}  // namespace unshard
