#include "store/chunks/committed_versions.h"

#include <algorithm>
#include <utility>

namespace unshard {

ChunkFingerprint FingerprintOf(const WrittenVersion& version) {
  if (version.removed) return {};
  return {false, version.size, version.checksum};
}

CommittedVersions::PlaceInShard CommittedVersions::PlaceOf(const ChunkRef& chunk) {
  return {chunk.slot.page, chunk.slot.slot, WrittenPart(chunk.part)};
}

CommittedVersions::DirectoryKey CommittedVersions::ParentKey(const WrittenVersion& version) {
  const GridDirectory in = version.tree->Parent(version.chunk);
  return {version.tree->ordinal(), in.level, in.prefix};
}

void CommittedVersions::ForgetUnsynced(WrittenVersion& version) {
  const auto found = unsynced_.find(ParentKey(version));
  if (found == unsynced_.end()) return;
  found->second.erase(version.shared_from_this());
  if (found->second.empty()) unsynced_.erase(found);
}

void CommittedVersions::MarkSynced(WrittenVersion& version) {
  const std::lock_guard lock(mutex_);
  ForgetUnsynced(version);
}

std::vector<WrittenVersionPtr> CommittedVersions::Unsynced(const ChunkTree& tree,
                                                           const GridDirectory& in) const {
  const std::lock_guard lock(mutex_);
  const auto found = unsynced_.find({tree.ordinal(), in.level, in.prefix});
  if (found == unsynced_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::vector<WrittenVersionPtr> CommittedVersions::Unsynced(std::uint32_t tree) const {
  std::vector<WrittenVersionPtr> versions;
  const std::lock_guard lock(mutex_);
  for (auto at = unsynced_.lower_bound({tree, 0, 0});
       at != unsynced_.end() && std::get<0>(at->first) == tree; ++at) {
    versions.insert(versions.end(), at->second.begin(), at->second.end());
  }
  return versions;
}

void CommittedVersions::Clear() {
  decltype(shards_) shards;
  decltype(unsynced_) unsynced;
  const std::lock_guard lock(mutex_);
  shards.swap(shards_);
  unsynced.swap(unsynced_);
  directories_.clear();
  recent_.clear();
  published_ = 0;
  spooled_ = 0;
}

WrittenVersionPtr CommittedVersions::Find(const ChunkId& id) const {
  const std::lock_guard lock(mutex_);
  return FindLocked(id);
}

std::vector<WrittenVersionPtr> CommittedVersions::FindAll(const std::vector<ChunkId>& ids) const {
  std::vector<WrittenVersionPtr> found;
  const std::lock_guard lock(mutex_);
  for (const ChunkId& id : ids) found.push_back(FindLocked(id));
  return found;
}

WrittenVersionPtr CommittedVersions::FindLocked(const ChunkId& id) const {
  const auto shard = shards_.find(id.shard());
  if (shard == shards_.end()) return nullptr;
  const auto found = shard->second.versions.find({id.slot.page, id.slot.slot, id.part});
  return found == shard->second.versions.end() ? nullptr : found->second;
}

std::map<ShardPlace, std::uint64_t> CommittedVersions::SpooledSizes(const DirtyShard& at) const {
  std::map<ShardPlace, std::uint64_t> sizes;
  const std::lock_guard lock(mutex_);
  const auto shard = shards_.find(at);
  if (shard == shards_.end()) return sizes;
  for (const auto& [place, version] : shard->second.versions) {
    if (version->spooled) sizes[{place.page, place.slot}] = version->removed ? 0 : version->size;
  }
  return sizes;
}

void CommittedVersions::LeaveArithmeticNode(const ChunkId& id) {
  if (const WrittenVersionPtr latest = Find(id)) latest->first = false;
}

std::optional<CommittedVersions::Spooled> CommittedVersions::SpooledOf(
    const WrittenVersion& version) const {
  const std::lock_guard lock(mutex_);
  if (!version.spooled) return std::nullopt;
  return Spooled{version.spool, *version.spooled};
}

std::vector<SpooledChunk> CommittedVersions::SpooledIn(
    const Spool& spool, const std::vector<WrittenVersionPtr>& versions) const {
  std::vector<SpooledChunk> chunks;
  for (const WrittenVersionPtr& version : versions) {
    auto spooled = SpooledOf(*version);
    if (spooled && spooled->spool.get() == &spool) chunks.push_back(std::move(spooled->chunk));
  }
  return chunks;
}

timespec CommittedVersions::ModifiedOf(const WrittenVersion& version) const {
  const std::lock_guard lock(mutex_);
  return version.modified;
}

void CommittedVersions::SetModified(WrittenVersion& version, const timespec& modified) {
  const std::lock_guard lock(mutex_);
  version.modified = modified;
}

void CommittedVersions::Count(Shard& shard, const WrittenVersion& version, int sign) {
  const std::uint64_t step = sign > 0 ? 1 : ~std::uint64_t{0};
  shard.spooled_versions += step;
  spooled_ += step;
  if (version.removed || version.chunk.part == ChunkPart::kFragments) return;
  shard.spooled_chunks += step;
  const ChunkTree& tree = *version.tree;
  for (GridDirectory in = tree.Parent(version.chunk);; in = tree.Parent(in)) {
    const auto counted = directories_.try_emplace({tree.ordinal(), in.level, in.prefix}).first;
    counted->second += step;
    if (counted->second == 0) directories_.erase(counted);
    if (in.level == 0) break;
  }
}

bool CommittedVersions::HoldsChunks(std::uint32_t tree, const GridDirectory& in) const {
  const std::lock_guard lock(mutex_);
  return directories_.contains({tree, in.level, in.prefix});
}

namespace {

// The bytes that the store may hold when the successor of `version` is published. If `version` is
// superseded before its publish begins, it never reaches the store. Once its publish has begun, the
// store may hold it.
ReplacedBytes AfterLocked(const WrittenVersion& version) {
  using Put = WrittenVersion::Put;
  if (!version.spooled || version.put == Put::kYes) {
    return {FingerprintOf(version), std::nullopt, version.stored_in};
  }
  if (version.publishing || version.put == Put::kPerhaps) {
    // Seals name two versions. Where there are three, since what a killed mount had under way may
    // arrive as well, ours must not be taken for a change by others.
    const bool third = version.replaces.other && version.replaces.other != FingerprintOf(version);
    return {third ? ChunkFingerprint::Unknown() : version.replaces.base, FingerprintOf(version),
            version.replaces.seen_in};
  }
  return version.replaces;
}

}  // namespace

ReplacedBytes CommittedVersions::ReplacedBy(const WrittenVersion& version) const {
  const std::lock_guard lock(mutex_);
  return version.replaces;
}

ReplacedBytes CommittedVersions::ReplacedAfter(const WrittenVersion& version) const {
  const std::lock_guard lock(mutex_);
  return AfterLocked(version);
}

std::vector<CommittedVersions::Replaced> CommittedVersions::ReplaceAll(
    const std::vector<WrittenVersionPtr>& versions) {
  std::vector<Replaced> results;
  const std::lock_guard lock(mutex_);
  for (const WrittenVersionPtr& version : versions) results.push_back(ReplaceLocked(version));
  return results;
}

std::optional<std::vector<CommittedVersions::Replaced>> CommittedVersions::ReplaceAllIfSealed(
    const std::vector<WrittenVersionPtr>& versions, NeededTerms& needed) {
  needed.clear();
  bool sealed = true;
  std::vector<Replaced> results;
  const std::lock_guard lock(mutex_);
  for (const WrittenVersionPtr& version : versions) {
    sealed = !needed.emplace_back(NeededTermsLocked(*version)) && sealed;
  }
  if (!sealed) return std::nullopt;
  for (const WrittenVersionPtr& version : versions) results.push_back(ReplaceLocked(version));
  return results;
}

// Nothing where its seal says enough.
std::optional<SealTerms> CommittedVersions::NeededTermsLocked(const WrittenVersion& version) const {
  const auto shard = shards_.find({version.tree->ordinal(), version.chunk.slot.shard});
  if (shard == shards_.end()) return std::nullopt;
  const auto found = shard->second.versions.find(PlaceOf(version.chunk));
  if (found == shard->second.versions.end()) return std::nullopt;
  const WrittenVersion& latest = *found->second;
  if (latest.origin == version.spool.get() && latest.sequence > version.spooled->sequence) {
    return std::nullopt;
  }
  const ReplacedBytes now = AfterLocked(latest);
  SealTerms terms = version.spooled->terms;
  const auto names = [&](const ChunkFingerprint& print) {
    return terms.base.unknown || print == terms.base || print == terms.other_base;
  };
  if (names(now.base) && (!now.other || names(*now.other))) return std::nullopt;
  terms.base = now.base;
  terms.other_base = now.other;
  return terms;
}

CommittedVersions::Replaced CommittedVersions::ReplaceLocked(
    const WrittenVersionPtr& version) noexcept {
  Replaced result;
  Shard& shard = shards_[{version->tree->ordinal(), version->chunk.slot.shard}];
  WrittenVersionPtr& latest = shard.versions[PlaceOf(version->chunk)];
  const auto bytes = [](const WrittenVersion& of) { return static_cast<std::int64_t>(of.size); };
  version->origin = version->spool.get();
  version->sequence = version->spooled->sequence;
  if (latest && latest->origin == version->origin && latest->sequence > version->sequence) {
    version->superseded = true;
    result.discard = Spooled{std::exchange(version->spool, nullptr), *version->spooled};
    version->spooled.reset();
    result.in_shard = shard.spooled_chunks;
    return result;
  }
  // Publishing may have begun, or ended, since the version was sealed.
  const SealTerms& terms = version->spooled->terms;
  version->replaces =
      latest ? AfterLocked(*latest)
             : ReplacedBytes{terms.base, terms.other_base, std::move(version->replaces.seen_in)};
  if (latest) {
    latest->superseded = true;
    ForgetUnsynced(*latest);
    if (latest->spooled) {
      Count(shard, *latest, -1);
      --result.chunks;
      result.bytes -= bytes(*latest);
      if (!latest->publishing) {
        result.discard = Spooled{std::exchange(latest->spool, nullptr), *latest->spooled};
        latest->spooled.reset();
      }
    } else {
      --published_;
    }
  }
  version->first = version->first && !latest;
  latest = version;
  unsynced_[ParentKey(*version)].insert(version);
  Count(shard, *version, 1);
  ++result.chunks;
  result.bytes += bytes(*version);
  result.in_shard = shard.spooled_chunks;
  return result;
}

std::vector<WrittenVersionPtr> CommittedVersions::BeginPublish(const DirtyShard& at) {
  std::vector<WrittenVersionPtr> versions;
  const std::lock_guard lock(mutex_);
  const auto shard = shards_.find(at);
  if (shard == shards_.end()) return versions;
  for (const auto& [place, version] : shard->second.versions) {
    if (!version->spooled) continue;
    version->publishing = true;
    versions.push_back(version);
  }
  return versions;
}

void CommittedVersions::Unspool(Shard& shard, WrittenVersion& version,
                                std::vector<Spooled>& discard) noexcept {
  discard.push_back(Spooled{std::exchange(version.spool, nullptr), *version.spooled});
  version.spooled.reset();
  ForgetUnsynced(version);
  if (version.superseded) return;  // Replace() has subtracted it from the counts
  Count(shard, version, -1);
  ++published_;
}

std::vector<CommittedVersions::Spooled> CommittedVersions::AbandonPublish(
    const std::vector<WrittenVersionPtr>& versions,
    const std::optional<ShardSet::OwnPublish>& own) {
  using Put = WrittenVersion::Put;
  std::vector<Spooled> discard;
  const std::lock_guard lock(mutex_);
  const bool happened = own && own->certain;
  if (happened) FollowPublish(versions, *own);
  for (const WrittenVersionPtr& version : versions) {
    Shard& shard = shards_[{version->tree->ordinal(), version->chunk.slot.shard}];
    version->publishing = false;
    if (own) version->put = happened ? Put::kYes : Put::kPerhaps;
    if (happened) version->stored_in = own->published;
    if (!version->superseded || !version->spooled) continue;
    if (happened) ReplacedIs(shard, *version);
    Unspool(shard, *version, discard);
  }
  return discard;
}

void CommittedVersions::FollowPublish(const std::vector<WrittenVersionPtr>& versions,
                                      const ShardSet::OwnPublish& own) {
  if (!own.base || versions.empty()) return;
  const WrittenVersion& one = *versions.front();
  for (auto& [place, each] : shards_[{one.tree->ordinal(), one.chunk.slot.shard}].versions) {
    if (each->replaces.seen_in == own.base) each->replaces.seen_in = own.published;
    if (each->stored_in == own.base) each->stored_in = own.published;
  }
}

void CommittedVersions::ReplacedIs(Shard& shard, const WrittenVersion& version) {
  const auto latest = shard.versions.find(PlaceOf(version.chunk));
  if (latest == shard.versions.end()) return;
  latest->second->replaces = {FingerprintOf(version), std::nullopt, version.stored_in};
}

CommittedVersions::Published CommittedVersions::EndPublish(
    const std::vector<WrittenVersionPtr>& versions,
    const std::optional<ShardSet::OwnPublish>& own) {
  Published published;
  const std::lock_guard lock(mutex_);
  if (own) FollowPublish(versions, *own);
  for (const WrittenVersionPtr& version : versions) {
    const DirtyShard at{version->tree->ordinal(), version->chunk.slot.shard};
    Shard& shard = shards_[at];
    version->publishing = false;
    if (!version->spooled) continue;
    if (own) version->stored_in = own->published;
    Unspool(shard, *version, published.discard);
    if (version->superseded) {
      ReplacedIs(shard, *version);
      continue;
    }
    ++published.chunks;
    published.bytes += version->size;
    if (shard.listed) {
      recent_.splice(recent_.end(), recent_, shard.recent);
    } else {
      shard.recent = recent_.insert(recent_.end(), at);
      shard.listed = true;
    }
  }
  return published;
}

CommittedVersions::Withdrawn CommittedVersions::Withdraw(
    const std::vector<WrittenVersionPtr>& versions) {
  Withdrawn withdrawn;
  const std::lock_guard lock(mutex_);
  for (const WrittenVersionPtr& version : versions) {
    version->publishing = false;
    if (!version->spooled) continue;
    std::vector<Spooled>& to = version->superseded ? withdrawn.discard : withdrawn.keep;
    ForgetUnsynced(*version);
    if (!version->superseded) {
      Shard& shard = shards_[{version->tree->ordinal(), version->chunk.slot.shard}];
      Count(shard, *version, -1);
      shard.versions.erase(PlaceOf(version->chunk));
      version->superseded = true;
    }
    to.push_back(Spooled{std::exchange(version->spool, nullptr), *version->spooled});
    version->spooled.reset();
  }
  return withdrawn;
}

bool CommittedVersions::ForgetPublished(const DirtyShard& at) {
  const std::lock_guard lock(mutex_);
  return ForgetUpTo(at, ~std::uint64_t{0});
}

void CommittedVersions::ForgetOldest(const DirtyShard& at, std::size_t count) {
  std::vector<std::uint64_t> numbers;
  const std::lock_guard lock(mutex_);
  const auto found = shards_.find(at);
  if (found == shards_.end()) return;
  for (const auto& [place, version] : found->second.versions) {
    if (!version->spooled) numbers.push_back(version->number);
  }
  std::uint64_t number = 0;
  if (!numbers.empty()) {
    const auto index = std::clamp(count, std::size_t{1}, numbers.size()) - 1;
    const auto last = numbers.begin() + static_cast<std::ptrdiff_t>(index);
    std::nth_element(numbers.begin(), last, numbers.end());
    number = *last;
  }
  ForgetUpTo(at, number);
}

bool CommittedVersions::ForgetUpTo(const DirtyShard& at, std::uint64_t number) {
  const auto found = shards_.find(at);
  if (found == shards_.end()) return false;
  Shard& shard = found->second;
  bool is_left = false;
  const std::size_t forgotten = std::erase_if(shard.versions, [&](const auto& item) {
    WrittenVersion& version = *item.second;
    if (version.spooled) return false;
    is_left |= version.number > number;
    version.superseded |= version.number <= number;
    return version.number <= number;
  });
  published_ -= forgotten;
  if (shard.listed && !is_left) {
    recent_.erase(shard.recent);
    shard.listed = false;
  }
  if (shard.versions.empty()) shards_.erase(found);
  return forgotten != 0;
}

std::optional<CommittedVersions::Excess> CommittedVersions::Oldest(
    std::size_t max_published) const {
  const std::lock_guard lock(mutex_);
  if (published_ <= max_published || recent_.empty()) return std::nullopt;
  return Excess{recent_.front(), published_ - max_published};
}

std::vector<UnpublishedChunks::Difference> CommittedVersions::InPage(std::uint32_t tree,
                                                                     std::uint64_t shard,
                                                                     std::uint64_t page,
                                                                     std::uint64_t first,
                                                                     std::uint64_t last) const {
  std::vector<Difference> differences;
  const std::lock_guard lock(mutex_);
  const auto found = shards_.find({tree, shard});
  if (found == shards_.end()) return differences;
  const auto& versions = found->second.versions;
  for (auto at = versions.lower_bound({page, first, ChunkPart::kPlain});
       at != versions.end() && at->first.page == page && at->first.slot <= last; ++at) {
    if (at->first.part != ChunkPart::kPlain || !at->second->spooled) continue;
    differences.push_back({at->first.slot, at->second->removed});
  }
  return differences;
}

std::vector<std::uint64_t> CommittedVersions::Pages(std::uint32_t tree, std::uint64_t shard) const {
  std::vector<std::uint64_t> pages;
  const std::lock_guard lock(mutex_);
  const auto found = shards_.find({tree, shard});
  if (found == shards_.end()) return pages;
  for (const auto& [place, version] : found->second.versions) {
    if (!version->spooled) continue;
    if (pages.empty() || pages.back() != place.page) pages.push_back(place.page);
  }
  return pages;
}

std::vector<std::uint64_t> CommittedVersions::Shards(std::uint32_t tree) const {
  std::vector<std::uint64_t> shards;
  const std::lock_guard lock(mutex_);
  for (auto at = shards_.lower_bound({tree, 0}); at != shards_.end() && at->first.tree == tree;
       ++at) {
    if (at->second.spooled_versions != 0) shards.push_back(at->first.shard);
  }
  return shards;
}

bool CommittedVersions::empty() const { return spooled_.load(std::memory_order_acquire) == 0; }

}  // namespace unshard
