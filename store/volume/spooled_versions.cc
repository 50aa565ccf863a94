#include "store/volume/spooled_versions.h"

#include "store/object/log.h"

namespace unshard {
namespace {

// Another writer commits the chunk again while it is synced, each time.
constexpr int kSyncTries = 100;
// They run out only if a publish begins, or ends, after each try.
constexpr int kSealTries = 16;

}  // namespace

void SpooledVersions::MakeLatest(const WrittenVersionPtr& version, Spooled sealed) {
  std::vector<Sealed> one;
  one.push_back({version, std::move(sealed)});
  MakeLatest(std::move(one));
}

void SpooledVersions::MakeLatest(std::vector<Sealed> all) {
  std::vector<WrittenVersionPtr> versions;
  for (auto& [version, sealed] : all) {
    version->number = ++last_number_;
    version->removed = sealed.chunk.removed;
    version->size = sealed.chunk.size;
    version->checksum = sealed.chunk.checksum;
    version->spool = std::move(sealed.spool);
    version->spooled = std::move(sealed.chunk);
    versions.push_back(version);
  }
  FinishReplacing(versions, Replace(versions));
}

void SpooledVersions::FinishReplacing(
    const std::vector<WrittenVersionPtr>& versions,
    const std::vector<CommittedVersions::Replaced>& replaced) noexcept {
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (replaced[i].discard) Discard({*replaced[i].discard});
    const ChunkTree& tree = *versions[i]->tree;
    const std::uint64_t shard = versions[i]->chunk.slot.shard;
    const std::uint64_t chunks = ShardedOf(tree).ChunksInShard(shard);
    add_dirty_({tree.ordinal(), shard}, replaced[i].chunks, replaced[i].bytes,
               chunks != 0 && replaced[i].in_shard == chunks);
  }
}

// The seals outlive this process. They were made before these became the latest versions: where one
// does not name what has been published since, or is being published, the next mount would take
// that for a change by others, and quarantine what was acknowledged.
std::vector<CommittedVersions::Replaced> SpooledVersions::Replace(
    const std::vector<WrittenVersionPtr>& versions) {
  CommittedVersions::NeededTerms needed;
  for (int i = 0; i < kSealTries; ++i) {
    if (auto replaced = written_->ReplaceAllIfSealed(versions, needed)) return *std::move(replaced);
    for (std::size_t each = 0; each < versions.size(); ++each) {
      if (!needed[each]) continue;
      WrittenVersion& version = *versions[each];
      auto sealed = version.spool->Reseal(*version.spooled, *needed[each]);
      if (sealed) {
        version.spooled = *std::move(sealed);
      } else {
        LogWarning(sealed.error().message);
      }
    }
  }
  return written_->ReplaceAll(versions);
}

void SpooledVersions::Adopt(const Spooled& spooled, const ChunkInTree& place,
                            const std::optional<StoredChunkPrint>& stored,
                            WrittenVersion::Put put) {
  auto version = std::make_shared<WrittenVersion>();
  version->put = put;
  version->adopted = true;
  version->tree = place.tree;
  version->chunk = place.chunk;
  version->first = stored && stored->fingerprint.absent;
  if (stored) version->replaces.seen_in = stored->in;
  version->modified = spooled.chunk.committed;
  MakeLatest(version, spooled);
  ++adopted_;
}

Status SpooledVersions::Sync(const WrittenVersionPtr& version) {
  const ChunkId id = ChunkId::Of(*version->tree, version->chunk);
  WrittenVersionPtr current = version;
  Status synced;
  // Where another writer commits the chunk again meanwhile, the version that was synced may have
  // been discarded: then its successor has to be durable.
  for (int i = 0; i < kSyncTries; ++i) {
    if (const auto spooled = written_->SpooledOf(*current)) {
      synced = spooled->spool->Sync({spooled->chunk});
      if (synced) written_->MarkSynced(*current);
      if (written_->SpooledOf(*current)) return synced;
    }
    const WrittenVersionPtr latest = written_->Find(id);
    if (!latest || latest == current) return {};  // published, and with that durable
    current = latest;
  }
  return synced;
}

void SpooledVersions::SyncTogether(const std::vector<WrittenVersionPtr>& versions) {
  for (const auto& spool : spools_) {
    const auto chunks = written_->SpooledIn(*spool, versions);
    if (!chunks.empty()) (void)spool->Sync(chunks);
  }
}

Status SpooledVersions::PrepareToPublish(const std::vector<WrittenVersionPtr>& versions) {
  for (const auto& spool : spools_) {
    const auto chunks = written_->SpooledIn(*spool, versions);
    if (!chunks.empty()) UNSHARD_RETURN_IF_ERROR(spool->PrepareToPublish(chunks));
  }
  return {};
}

void SpooledVersions::AbandonPublish(const std::vector<WrittenVersionPtr>& versions,
                                     const std::optional<ShardSet::OwnPublish>& own) {
  Discard(written_->AbandonPublish(versions, own));
}

CommittedVersions::Published SpooledVersions::EndPublish(
    const std::vector<WrittenVersionPtr>& versions,
    const std::optional<ShardSet::OwnPublish>& own) {
  CommittedVersions::Published published = written_->EndPublish(versions, own);
  Discard(published.discard);
  return published;
}

std::vector<SpooledVersions::Spooled> SpooledVersions::Withdraw(
    const DirtyShard& shard, const std::vector<WrittenVersionPtr>& versions) {
  CommittedVersions::Withdrawn withdrawn = written_->Withdraw(versions);
  Discard(withdrawn.discard);
  written_->ForgetPublished(shard);
  std::int64_t bytes = 0;
  for (const Spooled& kept : withdrawn.keep) bytes += static_cast<std::int64_t>(kept.chunk.size);
  if (!withdrawn.keep.empty()) {
    add_dirty_(shard, -static_cast<std::int64_t>(withdrawn.keep.size()), -bytes, false);
  }
  return std::move(withdrawn.keep);
}

void SpooledVersions::Discard(const std::vector<Spooled>& spooled) noexcept {
  for (const Spooled& one : spooled) {
    if (const Status discarded = one.spool->Discard(one.chunk); !discarded) {
      LogWarning(discarded.error().message);
    }
  }
}

void SpooledVersions::Quarantine(const Spooled& spooled, const std::string& why) {
  LogWarning(spooled.spool->Describe(spooled.chunk) + ": " + why + kIsQuarantined);
  const Status moved = spooled.spool->Quarantine(spooled.chunk);
  if (!moved) LogError(moved.error().message);
  ++quarantined_;
}

}  // namespace unshard
