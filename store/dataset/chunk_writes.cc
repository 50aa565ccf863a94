#include "store/dataset/chunk_writes.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "codec/compression/gzip.h"
#include "store/object/log.h"
#include "store/publish/can_publish.h"

namespace unshard {
namespace {

constexpr std::uint64_t kChunkShare = 8;  // one chunk may take this part of the memory cap
constexpr int kTries = 8;                 // where others write at the same time
constexpr int kRoomTries = 64;            // where others take the room that was waited for

Result<ChunkFingerprint> FingerprintOf(ChunkContent& content) {
  UNSHARD_ASSIGN_OR_RETURN(const std::uint32_t crc, Crc32cOf(content));
  return ChunkFingerprint{false, content.size(), crc};
}

PublishQueueOptions QueueOptions(const VolumeOptions& options, const Spool& spool) {
  PublishQueueOptions queue;
  queue.publish_after = std::chrono::milliseconds(options.publish_after_milliseconds);
  queue.threads = options.publish_threads;
  queue.high_water_bytes = spool.options().max_bytes / 2;
  queue.high_water_files = spool.options().max_files / 2;
  return queue;
}

PublisherOptions MakePublisherOptions(const VolumeOptions& options) {
  PublisherOptions publisher;
  publisher.max_index_bytes = options.memory_bytes / 8;
  publisher.max_wrapped_bytes = options.memory_bytes / 4;
  publisher.max_chunk_bytes = options.memory_bytes / kChunkShare;
  return publisher;
}

// The bytes of a shard's chunks in the store, but for those at `replaced`. At most about `enough`
// and one page more are counted. The index, and the shard that it stands in, are those that a
// commit reads anyway.
Result<std::uint64_t> StoredBytesBeside(ShardSet& shards, std::uint64_t shard,
                                        const std::map<ShardPlace, std::uint64_t>& replaced,
                                        std::uint64_t enough) {
  UNSHARD_ASSIGN_OR_RETURN(const ShardGenerationPtr generation,
                           shards.Current(shard, CallerDeadline()));
  if (!generation->object) return 0;
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t decoded,
                           shards.DecodedSize(generation, CallerDeadline()));
  if (decoded <= enough) return decoded;
  std::uint64_t bytes = 0;
  for (std::uint64_t page = 0; page < shards.format().page_count() && bytes <= enough; ++page) {
    UNSHARD_ASSIGN_OR_RETURN(const auto index, shards.Page(generation, page, CallerDeadline()));
    for (const IndexEntry& entry : index->entries()) {
      if (!replaced.contains({page, entry.slot})) bytes += entry.range.size;
    }
  }
  return bytes;
}

// Published versions whose times and inode numbers are remembered.
constexpr int kSyncTries = 100;
constexpr std::size_t kRememberedVersions = std::size_t{1} << 17;

}  // namespace

ChunkWrites::ChunkWrites(Parts parts, const VolumeOptions& options)
    : parts_(std::move(parts)),
      options_(options),
      max_chunk_bytes_(options.memory_bytes / kChunkShare),
      publisher_(parts_.replacer, MakePublisherOptions(options)),
      queue_(
          std::make_unique<PublishQueue>([this](const DirtyShard& shard) { return Publish(shard); },
                                         QueueOptions(options, *parts_.spools.front()))) {}

ChunkWrites::~ChunkWrites() = default;

Status ChunkWrites::CanWrite(const ChunkTree& tree) const {
  const auto* sharded = dynamic_cast<const ShardedTree*>(&tree);
  if (sharded == nullptr) {
    return Fail(ErrorCode::kReadOnly, "its chunks are computed from those of another dataset");
  }
  const PublisherOptions publisher = MakePublisherOptions(options_);
  return CanPublishFormat(sharded->shards().format(),
                          {publisher.max_index_bytes, publisher.max_wrapped_bytes});
}

// A shard that is compressed as a whole is put together in memory: with all that it holds already.
Status ChunkWrites::CheckShardFits(const Commit& commit, std::uint64_t size) const {
  ShardSet& shards = ShardedOf(*commit.tree).shards();
  if (!shards.format().is_wrapped()) return {};
  const std::uint64_t cap = MakePublisherOptions(options_).max_wrapped_bytes;
  const ChunkId id = ChunkId::Of(*commit.tree, commit.chunk);
  std::map<ShardPlace, std::uint64_t> written = parts_.written->SpooledSizes(id.shard());
  written[{id.slot.page, id.slot.slot}] = size;
  std::uint64_t body = shards.format().fixed_index_bytes();
  for (const auto& [place, bytes] : written) body += bytes;
  if (body <= cap) {
    const auto others = StoredBytesBeside(shards, id.slot.shard, written, cap - body);
    // Whatever else cannot be read is found by who replaces it.
    const bool above = !others && others.error().code == ErrorCode::kResourceExhausted;
    body = above ? cap + 1 : body + others.value_or(0);
  }
  if (body <= cap) return {};
  return tl::unexpected<Error>(
      Error{ErrorCode::kInvalidArgument,
            "its shard is compressed as a whole, and would take at least " + std::to_string(body) +
                " bytes of memory, above the cap of " + std::to_string(cap) +
                ": mount with a larger memory=",
            EFBIG});
}

Status ChunkWrites::WaitForRoom(std::uint64_t bytes) {
  const std::shared_ptr<Spool>& own = spool();
  const auto has_room = [&] {
    const SpoolUsage used = own->usage();
    const std::uint64_t left =
        own->options().max_bytes - std::min(used.bytes, own->options().max_bytes);
    return bytes <= left && used.files < own->options().max_files;
  };
  if (has_room()) return {};
  return queue_->WaitForRoom(has_room, InterruptibleDeadline());
}

Result<ContentPtr> ChunkWrites::Stored(const std::shared_ptr<ChunkTree>& tree,
                                       const ChunkRef& chunk) {
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, tree->chunks().Latest(chunk));
  if (!facts) return nullptr;
  return MakeStoredContent(tree, chunk, *facts);
}

Result<ContentPtr> ChunkWrites::ContentOf(const WrittenVersionPtr& version) {
  for (int i = 0; i < kTries; ++i) {
    const auto spooled = parts_.written->SpooledOf(*version);
    if (!spooled) break;
    auto file = spooled->spool->Open(spooled->chunk);
    if (file) return MakeFileContent(*std::move(file), version->size);
    // Published and discarded since we asked: the shard has it.
    if (file.error().code != ErrorCode::kNotFound) {
      return tl::unexpected<Error>(std::move(file).error());
    }
  }
  if (parts_.written->Find(ChunkId::Of(*version->tree, version->chunk)) != version) {
    return Fail(ErrorCode::kConflict, "a later version has been written");
  }
  return Stored(version->tree, version->chunk);
}

Result<ContentPtr> ChunkWrites::Current(const std::shared_ptr<ChunkTree>& tree,
                                        const ChunkRef& chunk) {
  for (int i = 1;; ++i) {
    const WrittenVersionPtr version = parts_.written->Find(ChunkId::Of(*tree, chunk));
    if (!version) return Stored(tree, chunk);
    if (version->removed) return nullptr;
    auto content = ContentOf(version);
    if (content || content.error().code != ErrorCode::kConflict || i == kTries) return content;
  }
}

Result<ChunkFingerprint> ChunkWrites::StoredFingerprint(const std::shared_ptr<ChunkTree>& tree,
                                                        const ChunkRef& chunk) {
  const auto read = [&]() -> Result<ChunkFingerprint> {
    UNSHARD_ASSIGN_OR_RETURN(const ContentPtr content, Stored(tree, chunk));
    if (!content) return ChunkFingerprint{};
    return FingerprintOf(*content);
  };
  // A shard that somebody else replaces or overwrites meanwhile is read again: the writer who waits
  // for this has nothing to do with it.
  for (int i = 1;; ++i) {
    auto found = read();
    if (found || found.error().code != ErrorCode::kConflict || i == kTries) return found;
  }
}

// What the store may hold for this chunk when the new version is published: what the version before
// was to replace, or, if that is published in between, the version before itself.
Result<ReplacedBytes> ChunkWrites::WhatIsReplaced(const WrittenVersionPtr& before,
                                                  const std::shared_ptr<ChunkTree>& tree,
                                                  const ChunkRef& chunk) {
  if (!before) {
    UNSHARD_ASSIGN_OR_RETURN(const ChunkFingerprint base, StoredFingerprint(tree, chunk));
    return ReplacedBytes{base, std::nullopt};
  }
  return parts_.written->ReplacedAfter(*before);
}

Status ChunkWrites::CheckBytes(ChunkTree& tree, const ChunkRef& chunk, std::uint64_t size,
                               const ReadStart& read) const {
  if (tree.chunks().encodes() && size > max_chunk_bytes_) {
    return tl::unexpected<Error>(Error{ErrorCode::kInvalidArgument,
                                       "a chunk that is stored compressed may have at most " +
                                           std::to_string(max_chunk_bytes_) + " bytes, found " +
                                           std::to_string(size),
                                       EFBIG});
  }
  if (chunk.part == ChunkPart::kFragments) return {};
  ByteVector start(std::min(size, tree.BytesToCheck(size)));
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t bytes, read(start));
  start.resize(bytes);
  return tree.CheckChunk(chunk, size, start);
}

Status ChunkWrites::Check(const Commit& commit, StagedFile& staged) const {
  UNSHARD_RETURN_IF_ERROR(CheckShardFits(commit, staged.size()));
  return CheckBytes(*commit.tree, commit.chunk, staged.size(),
                    [&](std::span<std::uint8_t> to) { return staged.Read(0, to); });
}

// A file that was opened before the array's metadata were replaced is closed after that.
Result<ChunkWrites::Commit> ChunkWrites::InServedTree(const Commit& commit) const {
  if (!commit.tree->retired()) return commit;
  Commit now = commit;
  now.tree = parts_.datasets->index().SuccessorOf(*commit.tree);
  const auto place = now.tree ? PlaceIn(now.tree, commit.tree->Path(commit.chunk)) : std::nullopt;
  if (!place) {
    return Fail(ErrorCode::kConflict,
                JoinPath(commit.tree->directory(), commit.tree->Path(commit.chunk)) +
                    ": the array was removed, or is stored in another way since this was opened: "
                    "write it again");
  }
  now.chunk = place->chunk;
  return now;
}

Result<std::shared_ptr<StagedFile>> ChunkWrites::Inflated(const Commit& commit,
                                                          StagedFile& staged) {
  if (staged.size() > max_chunk_bytes_) {
    return tl::unexpected<Error>(
        Error{ErrorCode::kInvalidArgument,
              commit.tree->Path(commit.chunk) + ": more bytes than a chunk may have", EFBIG});
  }
  ByteVector stored(staged.size());
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t read, staged.Read(0, stored));
  stored.resize(read);
  auto plain = GzipDecode(stored, max_chunk_bytes_);
  if (!plain) {
    return Fail(ErrorCode::kInvalidArgument,
                "expected a gzip file under this name: " + plain.error().message);
  }
  UNSHARD_ASSIGN_OR_RETURN(std::shared_ptr<StagedFile> inflated, spool()->Stage());
  UNSHARD_RETURN_IF_ERROR(inflated->Write(0, *plain));
  return inflated;
}

Result<WrittenVersionPtr> ChunkWrites::CommitBytes(const Commit& to, StagedFile& staged) {
  UNSHARD_ASSIGN_OR_RETURN(const Commit commit, InServedTree(to));
  std::shared_ptr<StagedFile> inflated;
  if (commit.gzipped) {
    UNSHARD_ASSIGN_OR_RETURN(inflated, Inflated(commit, staged));
  }
  StagedFile& plain = inflated ? *inflated : staged;
  UNSHARD_RETURN_IF_ERROR(Check(commit, plain));
  return Seal(commit, &plain);
}

Result<WrittenVersionPtr> ChunkWrites::CommitRemoval(const Commit& of) {
  UNSHARD_ASSIGN_OR_RETURN(const Commit commit, InServedTree(of));
  auto removed = Seal(commit, nullptr);
  for (int i = 0; i < kRoomTries && !removed && removed.error().system_errno == ENOSPC; ++i) {
    if (!WaitForRoom(0)) return removed;
    removed = Seal(commit, nullptr);
  }
  return removed;
}

Status ChunkWrites::CommitMove(const Commit& to, StagedFile& staged, const Commit& of) {
  UNSHARD_ASSIGN_OR_RETURN(const Commit copy, InServedTree(to));
  UNSHARD_ASSIGN_OR_RETURN(const Commit removal, InServedTree(of));
  UNSHARD_RETURN_IF_ERROR(Check(copy, staged));
  UNSHARD_ASSIGN_OR_RETURN(const Prepared put, Prepare(copy));
  UNSHARD_ASSIGN_OR_RETURN(const Prepared gone, Prepare(removal));
  const auto end = [](const Prepared& prepared) {
    const WrittenVersion& version = *prepared.version;
    return Spool::MoveEnd{version.tree->Path(version.chunk), prepared.terms};
  };
  UNSHARD_ASSIGN_OR_RETURN(Spool::SealedMove sealed,
                           spool()->SealMove(staged, copy.tree->directory(), end(put), end(gone)));
  MakeLatest(put, std::move(sealed.copy));
  MakeLatest(gone, std::move(sealed.removal));
  return {};
}

Result<WrittenVersionPtr> ChunkWrites::Seal(const Commit& commit, StagedFile* staged) {
  UNSHARD_ASSIGN_OR_RETURN(const Prepared prepared, Prepare(commit));
  const WrittenVersion& version = *prepared.version;
  UNSHARD_ASSIGN_OR_RETURN(SpooledChunk sealed,
                           spool()->Seal(staged, version.tree->directory(),
                                         version.tree->Path(version.chunk), prepared.terms));
  MakeLatest(prepared, std::move(sealed));
  return prepared.version;
}

Result<ChunkWrites::Prepared> ChunkWrites::Prepare(const Commit& commit) {
  const ChunkRef chunk{commit.chunk.slot, WrittenPart(commit.chunk.part)};
  const WrittenVersionPtr before = parts_.written->Find(ChunkId::Of(*commit.tree, chunk));
  UNSHARD_ASSIGN_OR_RETURN(const ReplacedBytes replaced,
                           WhatIsReplaced(before, commit.tree, chunk));
  // The seal outlives us: the version before may be published from now on until this one takes its
  // place.
  std::optional<ChunkFingerprint> other = replaced.other;
  if (!other && before && parts_.written->SpooledOf(*before)) other = FingerprintOf(*before);
  auto version = std::make_shared<WrittenVersion>();
  version->tree = commit.tree;
  version->chunk = chunk;
  version->first = !before && replaced.base.absent && !commit.pages_doubtful;
  version->inode = commit.inode;
  version->modified = commit.modified;
  return Prepared{std::move(version), {replaced.base, other, commit.tree->layout_digest()}};
}

void ChunkWrites::MakeLatest(const Prepared& prepared, SpooledChunk sealed) {
  const WrittenVersionPtr& version = prepared.version;
  version->number = ++next_number_;
  version->removed = sealed.removed;
  version->size = sealed.size;
  version->crc32c = sealed.crc32c;
  version->spool = spool();
  version->spooled = std::move(sealed);
  MakeLatest(version);
}

void ChunkWrites::MakeLatest(const WrittenVersionPtr& version) {
  const WrittenChunks::Replaced replaced = parts_.written->Replace(version);
  if (replaced.discard) Discard({*replaced.discard});
  const std::uint64_t shard = version->chunk.slot.shard;
  const std::uint64_t all = ShardedOf(*version->tree).ChunksInShard(shard);
  queue_->Add({version->tree->ordinal(), shard}, replaced.chunks, replaced.bytes,
              all != 0 && replaced.in_shard == all);
}

void ChunkWrites::Discard(const std::vector<WrittenChunks::Spooled>& spooled) {
  for (const WrittenChunks::Spooled& one : spooled) {
    if (const Status discarded = one.spool->Discard(one.chunk); !discarded) {
      // It is replayed after the next mount, found to be published, and discarded then.
      LogWarning(discarded.error().message);
    }
  }
}

Status ChunkWrites::Sync(const WrittenVersionPtr& version) {
  if (options_.sync == SyncMode::kStore) {
    return queue_->Flush({version->tree->ordinal(), version->chunk.slot.shard},
                         InterruptibleDeadline());
  }
  return SyncInSpool(version);
}

Status ChunkWrites::SyncInSpool(const WrittenVersionPtr& version) {
  const ChunkId id = ChunkId::Of(*version->tree, version->chunk);
  WrittenVersionPtr current = version;
  Status synced;
  // Somebody may commit the chunk again while it is synced, and what was synced goes: then what has
  // taken its place has to last.
  for (int i = 0; i < kSyncTries; ++i) {
    if (const auto spooled = parts_.written->SpooledOf(*current)) {
      synced = spooled->spool->Sync({spooled->chunk});
      if (synced) parts_.written->MarkSynced(*current);
      if (parts_.written->SpooledOf(*current)) return synced;
    }
    const WrittenVersionPtr latest = parts_.written->Find(id);
    if (!latest || latest == current) return {};  // published, and with that durable
    current = latest;
  }
  return synced;
}

Status ChunkWrites::SyncDirectory(const ChunkTree& tree, const GridDirectory& in) {
  const std::vector<WrittenVersionPtr> versions = parts_.written->Unsynced(tree, in);
  if (options_.sync == SyncMode::kSpool) SyncTogether(versions);
  for (const WrittenVersionPtr& version : versions) UNSHARD_RETURN_IF_ERROR(Sync(version));
  return {};
}

// With one sync of their directory. What fails, or is replaced meanwhile, is left to SyncInSpool.
void ChunkWrites::SyncTogether(const std::vector<WrittenVersionPtr>& versions) {
  for (const auto& spool : parts_.spools) {
    const auto chunks = parts_.written->SpooledIn(*spool, versions);
    if (!chunks.empty()) (void)spool->Sync(chunks);
  }
}

Status ChunkWrites::Flush(const ChunkTree& tree) {
  Status first;
  for (const std::uint64_t shard : parts_.written->Shards(tree.ordinal())) {
    const Status flushed = queue_->Flush({tree.ordinal(), shard}, InterruptibleDeadline());
    if (first && !flushed) first = flushed;
  }
  return first;
}

Status ChunkWrites::Flush() {
  // Chunks of an array that has got another shape are added anew, for the shards of its new tree.
  for (;;) {
    const std::uint64_t before = adopted_.load();
    const Status flushed = queue_->FlushAll(InterruptibleDeadline());
    if (!flushed || adopted_.load() == before) return flushed;
  }
}

void ChunkWrites::ForgetOldPublishes() {
  while (const auto oldest = parts_.written->Oldest(kRememberedVersions)) {
    parts_.written->ForgetPublished(*oldest);
    const auto tree = parts_.datasets->TreeAt(static_cast<std::uint32_t>(oldest->tree));
    if (tree) Renew(tree, *oldest);
  }
}

void ChunkWrites::Renew(const std::shared_ptr<ChunkTree>& tree, const DirtyShard& shard) {
  ShardedOf(*tree).shards().Renew(shard.shard);
  if (!parts_.on_renewed) return;
  parts_.on_renewed(JoinPath(tree->directory(), ShardedOf(*tree).shards().keys().Key(shard.shard)));
}

WriteStatus ChunkWrites::status() const {
  const PublishProgress progress = queue_->progress();
  WriteStatus status;
  status.spool = parts_.spool_path;
  status.dirty_chunks = progress.dirty_chunks;
  status.dirty_bytes = progress.dirty_bytes;
  status.dirty_shards = progress.dirty_shards;
  if (progress.oldest) {
    status.oldest_milliseconds = static_cast<std::uint64_t>(progress.oldest->count());
  }
  status.publishes = progress.publishes;
  status.bytes_published = bytes_published_.load();
  status.conflicts = conflicts_.load();
  status.lost = lost_.load();
  status.running = progress.running;
  status.publish_failures = progress.failures;
  if (progress.last_error) status.last_failure = DescribeFailure(*progress.last_error);
  for (const auto& spool : parts_.spools) {
    const SpoolUsage usage = spool->usage();
    status.spool_bytes += usage.bytes;
    status.spool_files += usage.files;
    for (const SpooledChunk& chunk : spool->Conflicts()) {
      status.set_aside.push_back(
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
