#include "store/cache/caching_store.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "store/object/time_now.h"

namespace unshard {
namespace {

// Less is not worth a file: it is the end of a chunk, or a question for the current version.
constexpr std::uint64_t kLeastBytes = 16;
constexpr std::int64_t kSettledSeconds = 2;

std::string TextOf(const RangeRequest& range) {
  return std::to_string(range.begin) + (range.suffix ? " last " : " first ") +
         std::to_string(range.size);
}

// Stands before the generation in the entry of an opening: which bytes of the object it holds.
std::string BeforeTag(const RangeRequest& first) { return TextOf(first) + '\n'; }

bool IsSettled(const ObjectInfo& info) {
  return TimeNow().tv_sec - info.modified.tv_sec > kSettledSeconds;
}

class CachingVersion final : public ObjectVersion {
 public:
  // `opening`: the entry by which OpenCached finds this version.
  CachingVersion(std::shared_ptr<ObjectVersion> below, std::shared_ptr<DiskCache> cache,
                 std::string identity, std::string_view key, const CacheDigest& opening)
      : below_(std::move(below)),
        cache_(std::move(cache)),
        identity_(std::move(identity)),
        key_(key),
        opening_(opening) {}

  const ObjectInfo& info() const override { return below_->info(); }

  void StartRead(const RangeRequest& range, const Deadline& deadline, ReadDone done) override {
    const ByteRange wanted = ClipRange(range, info().size);
    const auto digest = DigestOfRange(wanted);
    if (digest) {
      if (auto entry = cache_->Find(*digest); entry && entry->bytes.size() == wanted.size) {
        return done(ReadResult{ReadResult::State::kFound, std::move(entry->bytes), info().size,
                               info().generation, ReadResult::kCachedAge});
      }
    }
    below_->StartRead(range, deadline,
                      [cache = cache_, opening = opening_, digest, wanted,
                       done = std::move(done)](Result<ReadResult> read) {
                        if (read && read->state == ReadResult::State::kConditionFailed) {
                          cache->Erase(opening);
                        } else if (read && digest && read->value.size() == wanted.size) {
                          cache->Put(*digest, {0, {}, {}, read->value});
                        }
                        done(std::move(read));
                      });
  }

  std::optional<FileSlice> Slice(const ByteRange& range) override { return below_->Slice(range); }
  void Prefetch(const ByteRange& range) override { below_->Prefetch(range); }
  bool IsCached(const ByteRange& range) const override {
    const auto digest = DigestOfRange(range);
    return digest && cache_->Has(*digest);
  }

 private:
  // Nothing where it is not to be kept.
  [[nodiscard]] std::optional<CacheDigest> DigestOfRange(const ByteRange& range) const {
    if (range.size < kLeastBytes || range.size > cache_->max_entry_bytes()) return std::nullopt;
    return DigestOf({"range", identity_, key_, info().generation.tag,
                     TextOf(RangeRequest::At(range.begin, range.size))});
  }

  const std::shared_ptr<ObjectVersion> below_;
  const std::shared_ptr<DiskCache> cache_;
  const std::string identity_;
  const std::string key_;
  const CacheDigest opening_;
};

}  // namespace

CachingStore::CachingStore(std::shared_ptr<ObjectStore> below, std::shared_ptr<DiskCache> cache)
    : below_(std::move(below)), cache_(std::move(cache)), identity_(below_->Identity()) {}

CacheDigest CachingStore::OpeningDigest(std::string_view key, bool of_end) const {
  return DigestOf({of_end ? "ending" : "opening", identity_, key});
}

std::shared_ptr<ObjectVersion> CachingStore::Keep(std::shared_ptr<ObjectVersion> version,
                                                  std::string_view key,
                                                  const CacheDigest& opening) const {
  return std::make_shared<CachingVersion>(std::move(version), cache_, identity_, key, opening);
}

// Whichever bytes of the object they hold.
void CachingStore::ForgetOthers(std::string_view key, const Generation& current) const {
  for (const bool of_end : {false, true}) {
    const CacheDigest digest = OpeningDigest(key, of_end);
    const auto entry = cache_->Peek(digest);
    if (entry && !entry->generation.tag.ends_with('\n' + current.tag)) cache_->Erase(digest);
  }
}

// What is kept of the version that was opened last with this range.
std::optional<CachingStore::KeptOpening> CachingStore::FindOpening(
    const CacheDigest& opening, const RangeRequest& first) const {
  auto entry = cache_->Find(opening);
  const std::string before = BeforeTag(first);
  if (!entry || !entry->generation.tag.starts_with(before)) return std::nullopt;
  KeptOpening kept;
  kept.info.size = entry->object_size;
  kept.info.generation.tag = entry->generation.tag.substr(before.size());
  kept.info.modified = entry->modified;
  if (entry->bytes.size() != ClipRange(first, kept.info.size).size) return std::nullopt;
  kept.first = std::move(entry->bytes);
  return kept;
}

// Asks the store, which sends the bytes only where they are not those that are kept.
Result<CachingStore::OpenedBelow> CachingStore::OpenBelow(const CacheDigest& opening,
                                                          std::string_view key,
                                                          const RangeRequest& first,
                                                          const Deadline& deadline) {
  OpenedBelow below;
  auto kept = first.size == 0 ? std::nullopt : FindOpening(opening, first);
  if (!kept) {
    UNSHARD_ASSIGN_OR_RETURN(below.opened, below_->Open(key, first, deadline));
    return below;
  }
  UNSHARD_ASSIGN_OR_RETURN(below.opened, below_->OpenUnlessKnown(key, first, kept->info, deadline));
  Opened& opened = below.opened;
  if (opened.version && opened.version->info().generation == kept->info.generation) {
    below.kept = true;
    opened.first = std::move(kept->first);
  }
  return below;
}

Result<ObjectStore::Opened> CachingStore::Open(std::string_view key, const RangeRequest& first,
                                               const Deadline& deadline) {
  const CacheDigest opening = OpeningDigest(key, first.suffix);
  UNSHARD_ASSIGN_OR_RETURN(OpenedBelow below, OpenBelow(opening, key, first, deadline));
  Opened& opened = below.opened;
  if (!opened.version) {
    cache_->Erase(opening);
    return std::move(opened);
  }
  const ObjectInfo& info = opened.version->info();
  const bool is_kept = IsSettled(info) && below_->Recall(key, info);
  if (first.size == 0 || !is_kept) ForgetOthers(key, info.generation);
  if (!is_kept) return std::move(opened);
  const bool whole = opened.first.size() == ClipRange(first, info.size).size;
  if (!opened.first.empty() && whole && !below.kept) {
    const Generation marked{BeforeTag(first) + info.generation.tag};
    cache_->Put(opening, {info.size, marked, info.modified, opened.first});
  }
  opened.version = Keep(std::move(opened.version), key, opening);
  return std::move(opened);
}

ObjectStore::Opened CachingStore::OpenCached(std::string_view key, const RangeRequest& first) {
  if (first.size == 0) return {};
  const CacheDigest opening = OpeningDigest(key, first.suffix);
  auto kept = FindOpening(opening, first);
  auto version = kept ? below_->Recall(key, kept->info) : nullptr;
  if (!version) return {};
  return {Keep(std::move(version), key, opening), std::move(kept->first)};
}

std::shared_ptr<ObjectVersion> CachingStore::Recall(std::string_view key, const ObjectInfo& info) {
  auto version = below_->Recall(key, info);
  return version ? Keep(std::move(version), key, OpeningDigest(key, false)) : nullptr;
}

void CachingStore::Replaced(std::string_view key, const std::optional<ObjectInfo>& now) {
  for (const bool of_end : {false, true}) cache_->Erase(OpeningDigest(key, of_end));
  below_->Replaced(key, now);
}

Result<std::optional<ObjectInfo>> CachingStore::Stat(std::string_view key,
                                                     const Deadline& deadline) {
  return below_->Stat(key, deadline);
}

Status CachingStore::List(std::string_view key, const Deadline& deadline,
                          const ListVisitor& visitor) {
  return below_->List(key, deadline, visitor);
}

Status CachingStore::ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                              const ListVisitor& visitor) {
  return below_->ListFrom(key, resume, deadline, visitor);
}

}  // namespace unshard
