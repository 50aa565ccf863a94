#include "fs/chunk_writes.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "codec/gzip.h"
#include "fs/node_id.h"
#include "store/log.h"

namespace unshard {
namespace {

constexpr std::uint64_t kChunkShare = 8;  // one chunk may take this part of the memory cap
constexpr int kTries = 8;                 // where others write at the same time

Result<ChunkFingerprint> FingerprintOf(ChunkContent& content) {
  UNSHARD_ASSIGN_OR_RETURN(const std::uint32_t crc, Crc32cOf(content));
  return ChunkFingerprint{false, content.size(), crc};
}

PublishQueueOptions QueueOptions(const MountOptions& options, const Spool& spool) {
  PublishQueueOptions queue;
  queue.publish_after = std::chrono::milliseconds(options.publish_after_milliseconds);
  queue.threads = options.publish_threads;
  queue.high_water_bytes = spool.options().max_bytes / 2;
  queue.high_water_files = spool.options().max_files / 2;
  return queue;
}

PublisherOptions MakePublisherOptions(const MountOptions& options) {
  PublisherOptions publisher;
  publisher.max_index_bytes = options.memory_bytes / 8;
  publisher.max_wrapped_bytes = options.memory_bytes / 4;
  publisher.max_chunk_bytes = options.memory_bytes / kChunkShare;
  return publisher;
}

// Published versions whose times and inode numbers are remembered.
constexpr int kSyncTries = 100;
constexpr std::size_t kRememberedVersions = std::size_t{1} << 17;

}  // namespace

ChunkWrites::ChunkWrites(Parts parts, const MountOptions& options)
    : parts_(std::move(parts)),
      options_(options),
      max_chunk_bytes_(options.memory_bytes / kChunkShare),
      publisher_(parts_.source, MakePublisherOptions(options)),
      queue_(
          std::make_unique<PublishQueue>([this](const DirtyShard& shard) { return Publish(shard); },
                                         QueueOptions(options, *parts_.spools.front()))) {}

ChunkWrites::~ChunkWrites() = default;

Status ChunkWrites::CanWrite(const ChunkTree& tree) { return tree.shards().format().CanWrite(); }

Status ChunkWrites::WaitForRoom(std::uint64_t bytes) {
  const std::shared_ptr<Spool>& own = spool();
  const auto has_room = [&] {
    const SpoolUsage used = own->usage();
    const std::uint64_t left =
        own->options().max_bytes - std::min(used.bytes, own->options().max_bytes);
    return bytes <= left && used.files < own->options().max_files;
  };
  if (has_room()) return {};
  return queue_->WaitForRoom(has_room);
}

Result<ContentPtr> ChunkWrites::Stored(const std::shared_ptr<ChunkTree>& tree,
                                       const ChunkRef& chunk) {
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, parts_.reader->Find(*tree, chunk));
  if (!facts) return nullptr;
  return MakeStoredContent(*parts_.reader, tree, chunk, *facts);
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

Status ChunkWrites::Check(const Commit& commit, StagedFile& staged) const {
  const ChunkTree& tree = *commit.tree;
  const std::uint64_t size = staged.size();
  if (!tree.shards().format().stored_is_plain() && size > max_chunk_bytes_) {
    return tl::unexpected<Error>(Error{ErrorCode::kInvalidArgument,
                                       "a chunk that is stored compressed may have at most " +
                                           std::to_string(max_chunk_bytes_) + " bytes, found " +
                                           std::to_string(size),
                                       EFBIG});
  }
  if (commit.chunk.part == ChunkPart::kFragments) return {};
  ByteVector start(std::min(size, tree.BytesToCheck(size)));
  UNSHARD_ASSIGN_OR_RETURN(const std::size_t read, staged.Read(0, start));
  start.resize(read);
  return tree.CheckChunk(commit.chunk, size, start);
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

Result<WrittenVersionPtr> ChunkWrites::CommitBytes(const Commit& commit, StagedFile& staged) {
  std::shared_ptr<StagedFile> inflated;
  if (commit.gzipped) {
    UNSHARD_ASSIGN_OR_RETURN(inflated, Inflated(commit, staged));
  }
  StagedFile& plain = inflated ? *inflated : staged;
  UNSHARD_RETURN_IF_ERROR(Check(commit, plain));
  return Seal(commit, &plain);
}

Result<WrittenVersionPtr> ChunkWrites::CommitRemoval(const Commit& commit) {
  return Seal(commit, nullptr);
}

Result<WrittenVersionPtr> ChunkWrites::Seal(const Commit& commit, StagedFile* staged) {
  ChunkRef chunk = commit.chunk;
  if (chunk.part == ChunkPart::kStored) chunk.part = ChunkPart::kPlain;
  const WrittenVersionPtr before = parts_.written->Find(ChunkId::Of(*commit.tree, chunk));
  UNSHARD_ASSIGN_OR_RETURN(const ReplacedBytes replaced,
                           WhatIsReplaced(before, commit.tree, chunk));
  // The seal outlives us: the version before may be published from now on until this one takes its
  // place.
  std::optional<ChunkFingerprint> other = replaced.other;
  if (!other && before && parts_.written->SpooledOf(*before)) other = FingerprintOf(*before);
  UNSHARD_ASSIGN_OR_RETURN(SpooledChunk sealed,
                           spool()->Seal(staged, commit.tree->directory(), commit.tree->Path(chunk),
                                         replaced.base, other));
  auto version = std::make_shared<WrittenVersion>();
  version->tree = commit.tree;
  version->chunk = chunk;
  version->number = ++next_number_;
  version->removed = staged == nullptr;
  version->moved_to = commit.moved_to;
  version->first = !before && replaced.base.absent && !commit.pages_doubtful;
  version->size = sealed.size;
  version->crc32c = sealed.crc32c;
  version->inode = commit.inode;
  version->modified = commit.modified;
  version->spool = spool();
  version->spooled = std::move(sealed);
  MakeLatest(version);
  return version;
}

void ChunkWrites::MakeLatest(const WrittenVersionPtr& version) {
  const WrittenChunks::Replaced replaced = parts_.written->Replace(version);
  if (replaced.discard) Discard({*replaced.discard});
  const std::uint64_t shard = version->chunk.slot.shard;
  const std::uint64_t all = version->tree->ChunksInShard(shard);
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
    return queue_->Flush({version->tree->ordinal(), version->chunk.slot.shard});
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
      if (parts_.written->SpooledOf(*current)) return synced;
    }
    const WrittenVersionPtr latest = parts_.written->Find(id);
    if (!latest || latest == current) return {};  // published, and with that durable
    current = latest;
  }
  return synced;
}

Status ChunkWrites::SyncDirectory(const ChunkTree& tree, const GridDirectory& in) {
  for (const WrittenVersionPtr& version : parts_.written->Unpublished()) {
    if (version->tree.get() != &tree || !(tree.Parent(version->chunk) == in)) continue;
    UNSHARD_RETURN_IF_ERROR(Sync(version));
  }
  return {};
}

Status ChunkWrites::Flush() { return queue_->FlushAll(); }

void ChunkWrites::ForgetOldPublishes() {
  while (const auto oldest = parts_.written->Oldest(kRememberedVersions)) {
    parts_.written->ForgetPublished(*oldest);
    const auto tree = parts_.datasets->TreeAt(static_cast<std::uint32_t>(oldest->tree));
    if (tree) Renew(tree, *oldest);
  }
}

void ChunkWrites::Renew(const std::shared_ptr<ChunkTree>& tree, const DirtyShard& shard) {
  tree->shards().Renew(shard.shard);
  if (!parts_.on_renewed) return;
  parts_.on_renewed(JoinPath(tree->directory(), tree->shards().keys().Key(shard.shard)));
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
  }
  status.max_spool_bytes = spool()->options().max_bytes;
  status.max_spool_files = spool()->options().max_files;
  return status;
}

}  // namespace unshard
