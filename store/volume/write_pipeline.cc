#include "store/volume/write_pipeline.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "store/chunks/presented_tree.h"
#include "store/object/deadline.h"
#include "store/object/log.h"
#include "store/source/memory_shares.h"
#include "store/volume/spool_replay.h"
#include "store/volume/spooled_uploads.h"

namespace unshard {
namespace {

// Where trees have their ordinals: the files of the source, by FileTable::QueueNumber.
constexpr std::uint64_t kFiles = ~std::uint64_t{0};

PublisherOptions LimitsOf(const VolumeOptions& options) {
  return MemoryShares(options.memory_bytes).publisher();
}

// Writers of a store without locks meet each other only when they replace an object.
constexpr std::chrono::milliseconds kFirstPause{10};

constexpr std::chrono::milliseconds kLookAtTraffic{100};

// Of a request that finds out whether the store is back.
constexpr std::chrono::seconds kAskingPatience{5};

// Waits until nothing has been counted for `patience`; false where `over` is requested before.
bool StandsStill(const StoreContact& contact, std::chrono::milliseconds patience,
                 const std::stop_token& over) {
  using Clock = std::chrono::steady_clock;
  std::uint64_t seen = contact.bytes();
  auto moved = Clock::now();
  while (Clock::now() - moved < patience) {
    if (!Pause(kLookAtTraffic, {Clock::time_point::max(), over}, "waiting")) return false;
    if (contact.bytes() == seen) continue;
    seen = contact.bytes();
    moved = Clock::now();
  }
  return true;
}

// EAGAIN: something else has to be written first.
bool IsAway(const Error& error) {
  return error.code == ErrorCode::kUnavailable && error.system_errno != EAGAIN;
}

ShardPublishing::Parts PublishingParts(const WritePipeline::Parts& parts,
                                       const VolumeOptions& options, SpooledVersions& versions,
                                       const CurrentChunks& current,
                                       const std::shared_ptr<AttemptRecords>& attempts) {
  PublisherOptions limits = LimitsOf(options);
  if (parts.files) limits.first_pause = kFirstPause;
  return {parts.replacer,   parts.datasets, parts.written, &versions,      &current,
          parts.on_renewed, limits,         attempts,      options.strict, parts.root};
}

}  // namespace

WritePipeline::WritePipeline(Parts parts, const VolumeOptions& options)
    : parts_(std::move(parts)),
      sync_(options.sync),
      attempts_(std::make_shared<AttemptRecords>(parts_.source_replacer ? parts_.source_replacer
                                                                        : parts_.replacer)),
      checks_(parts_.written, LimitsOf(options), parts_.converting),
      current_(parts_.written),
      versions_(parts_.written, parts_.spools,
                [this](const DirtyShard& shard, std::int64_t chunks, std::int64_t bytes,
                       bool complete) { queue_.Add(shard, chunks, bytes, complete); }),
      committer_(spool(), parts_.written, parts_.datasets->index(), checks_, current_, versions_,
                 parts_.files && options.single_writer && !options.strict
                     ? ChunkCommitter::Replaced::kOnlyFound
                     : ChunkCommitter::Replaced::kRead,
                 StoreAway(), {parts_.replacer->removes_atomically(), parts_.root}),
      publishing_(PublishingParts(parts_, options, versions_, current_, attempts_)),
      queue_([this](const DirtyShard& shard) { return Publish(shard); }, QueueOptions(options)),
      room_(spool(), queue_) {
  parts_.replacer->RecordUploads(std::make_shared<SpooledUploads>(spool()));
  if (!parts_.files) return;
  file_publishing_ = std::make_unique<FilePublishing>(parts_.files, *attempts_, options.strict);
  parts_.files->Start(FilesCommitting());
  if (!parts_.contact) return;
  parts_.contact->Listen({[this] { return queue_.StoreIsAway(); },
                          [this](const Error& error) { queue_.FoundStoreAway(error); },
                          [this] { queue_.StoreAnswered(); }});
}

WritePipeline::~WritePipeline() {
  if (parts_.contact) parts_.contact->Listen({});
  ending_.request_stop();  // the queue waits for what it asks the store
  parts_.replacer->RecordUploads(nullptr);
  if (!parts_.files) return;
  // Files that are still open commit to the spool, for the next mount.
  ObjectFiles::Committing ended;
  ended.spool = spool();
  ended.add_dirty = [](std::uint64_t, std::int64_t, std::int64_t) {};
  parts_.files->Start(std::move(ended));
}

ChunkCommitter::StoreAway WritePipeline::StoreAway() {
  if (!parts_.files) return {};
  return {[this] { return queue_.StoreIsAway(); },
          [this](const Error& error) { FoundStoreAway(error); }};
}

PublishQueueOptions WritePipeline::QueueOptions(const VolumeOptions& options) {
  PublishQueueOptions queue;
  queue.publish_after = std::chrono::milliseconds(options.publish_after_milliseconds);
  queue.threads = options.publish_threads;
  queue.high_water_bytes = spool()->max_bytes() / 2;
  queue.high_water_files = spool()->options().max_files / 2;
  // The locks of shards in directories are one each; a service is away as a whole.
  if (!parts_.files) return queue;
  queue.is_away = IsAway;
  if (!parts_.ask_store) return queue;
  queue.ask = [this] {
    return parts_.ask_store(
        {std::chrono::steady_clock::now() + kAskingPatience, ending_.get_token()});
  };
  return queue;
}

ObjectFiles::Committing WritePipeline::FilesCommitting() {
  ObjectFiles::Committing files;
  files.spool = spool();
  files.add_dirty = [this](std::uint64_t number, std::int64_t chunks, std::int64_t bytes) {
    queue_.Add({kFiles, number}, chunks, bytes, false);
  };
  if (sync_ == SyncMode::kStore) {
    files.flush = [this](std::uint64_t number) {
      return queue_.Flush({kFiles, number}, InterruptibleDeadline());
    };
  }
  if (parts_.on_renewed) {
    // Nothing of ours watches the store: what depends on a document is read again.
    files.changed = [renewed = parts_.on_renewed](const std::string& key) {
      if (IsDocumentName(BaseName(key))) renewed(key);
    };
  }
  return files;
}

Result<PublishQueue::Done> WritePipeline::Publish(const DirtyShard& shard) {
  const auto stop = [this] { return interrupted_.get_token(); };
  const ServedCaller caller(std::chrono::steady_clock::time_point::max(), stop, stop);
  if (shard.tree != kFiles) return publishing_.Publish(shard);
  Deadline deadline;
  deadline.stop = ending_.get_token();
  return file_publishing_->Publish(shard.shard, deadline);
}

void WritePipeline::Replay() {
  SpoolReplay::ReplayFile replay_file;
  if (file_publishing_) {
    replay_file = [this](const std::shared_ptr<Spool>& spool, const SpooledChunk& chunk) {
      file_publishing_->Replay(spool, chunk);
    };
  }
  SpoolReplay(*parts_.replacer, *parts_.datasets, checks_, current_, versions_, *attempts_,
              std::move(replay_file), parts_.root)
      .Run(parts_.spools);
  reported_ = NeverPublished();  // before there was a caller
}

void WritePipeline::PutPassedThrough(const Commit& committed) {
  const auto presented = parts_.root.empty() ? nullptr : AsPresented(committed.tree);
  if (!presented || presented->stored()->shards().format().fixed_index_bytes() != 0) return;
  for (const ChunkRef& chunk : presented->StoredChunks(committed.chunk)) {
    const Status put =
        queue_.Flush({presented->stored_ordinal(), chunk.slot.shard}, InterruptibleDeadline());
    if (!put) LogWarning(put.error().message);
  }
}

void WritePipeline::Committed(const Commit& commit) {
  PutPassedThrough(commit);
  if (committed_) committed_(*commit.tree);
}

Result<WrittenVersionPtr> WritePipeline::CommitBytes(const Commit& to, StagedFile& staged) {
  auto sealed = committer_.CommitBytes(to, staged);
  if (sealed) Committed(to);
  return sealed;
}

Status WritePipeline::CommitMove(const Commit& to, StagedFile& staged, const Commit& of) {
  UNSHARD_RETURN_IF_ERROR(committer_.CommitMove(to, staged, of));
  Committed(to);
  Committed(of);
  return {};
}

Result<WrittenVersionPtr> WritePipeline::CommitRemoval(const Commit& of) {
  auto removed = committer_.CommitRemoval(of);
  if (removed) Committed(of);
  return removed;
}

Status WritePipeline::Sync(const WrittenVersionPtr& version) {
  if (sync_ == SyncMode::kSpool) return versions_.Sync(version);
  return queue_.Flush({version->tree->ordinal(), version->chunk.slot.shard},
                      InterruptibleDeadline());
}

Status WritePipeline::Sync(const ChunkTree& tree, const ChunkRef& chunk) {
  for (const WrittenVersionPtr& version : parts_.written->FindAll(ChunkId::AllOf(tree, chunk))) {
    if (version) UNSHARD_RETURN_IF_ERROR(Sync(version));
  }
  return {};
}

Status WritePipeline::SyncInSpool(const ChunkTree& tree, const ChunkRef& chunk) {
  for (const WrittenVersionPtr& version : parts_.written->FindAll(ChunkId::AllOf(tree, chunk))) {
    if (version) UNSHARD_RETURN_IF_ERROR(versions_.Sync(version));
  }
  return {};
}

Status WritePipeline::SyncDirectory(const ChunkTree& tree, const GridDirectory& in) {
  // A directory of a view has chunks of several stored directories.
  const bool stored = tree.stored_ordinal() == tree.ordinal();
  const std::vector<WrittenVersionPtr> versions =
      stored ? parts_.written->Unsynced(tree, in) : parts_.written->Unsynced(tree.stored_ordinal());
  if (sync_ == SyncMode::kSpool) versions_.SyncTogether(versions);
  for (const WrittenVersionPtr& version : versions) UNSHARD_RETURN_IF_ERROR(Sync(version));
  return {};
}

Status WritePipeline::Flush(const ChunkTree& tree) {
  Status first;
  const std::uint32_t stored = tree.stored_ordinal();
  for (const std::uint64_t shard : parts_.written->Shards(stored)) {
    const Status flushed = queue_.Flush({stored, shard}, InterruptibleDeadline());
    if (first && !flushed) first = flushed;
  }
  return first;
}

Status WritePipeline::Flush() {
  Status flushed = PublishAll();
  const std::uint64_t now = NeverPublished();
  const std::uint64_t before = reported_.exchange(now);
  if (now <= before) return flushed;
  const std::string lost =
      "chunks or files that could not be published: " + std::to_string(now - before) +
      " (unshard spool list says why)";
  if (flushed) return Fail(ErrorCode::kConflict, lost);
  // Of several failures the first is returned, which may be another one.
  if (flushed.error().code != ErrorCode::kConflict) flushed.error().message += "; " + lost;
  return flushed;
}

std::uint64_t WritePipeline::NeverPublished() const {
  std::uint64_t count = publishing_.counters().lost.load();
  for (const auto& spool : parts_.spools) {
    count += spool->Conflicts().size() + spool->Damaged().size();
  }
  return count;
}

Status WritePipeline::PublishAll() {
  // Chunks of an array that has got another shape are adopted by its new tree, whose shards are
  // dirty from then on.
  for (;;) {
    const std::uint64_t before = versions_.adopted();
    const Status flushed = queue_.FlushAll(InterruptibleDeadline());
    if (!flushed || versions_.adopted() == before) return flushed;
  }
}

Status WritePipeline::Drain(std::chrono::milliseconds patience) {
  std::stop_source gave_up;
  Status drained;
  {
    const std::jthread watch([&](const std::stop_token& over) {
      if (!parts_.contact || !StandsStill(*parts_.contact, patience, over)) return;
      gave_up.request_stop();
      interrupted_.request_stop();
    });
    const auto stop = [&] { return gave_up.get_token(); };
    const ServedCaller caller(std::chrono::steady_clock::time_point::max(), stop, stop);
    drained = PublishAll();
  }
  if (drained) return drained;
  End();
  interrupted_.request_stop();
  if (!gave_up.stop_requested()) return drained;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  return FailErrno(ETIMEDOUT, "the store has not transferred a byte for " +
                                  std::to_string(seconds.count()) + " s");
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
  if (file_publishing_) {
    status.bytes_published += file_publishing_->counters().bytes_published.load();
    status.conflicts += file_publishing_->counters().conflicts.load();
  }
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
  status.max_spool_bytes = spool()->max_bytes();
  status.max_spool_files = spool()->options().max_files;
  return status;
}

}  // namespace unshard
