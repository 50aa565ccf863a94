// Keeps what a remote store sends in a cache on a disk.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/cache/disk_cache.h"
#include "store/object/object_store.h"

namespace unshard {

// Forwards everything to the store below, and keeps of the objects that are opened with a range of
// bytes: that range, so that OpenCached opens them without a request and Open without their bytes
// where the store still has that version, and the ranges that are read of their versions. Reads of
// ranges that are kept are served from the disk, with the age ReadResult::kCachedAge.
//   - Only versions that Recall() can make again are kept, and none of an object that was modified
//     within the last seconds: it could be replaced within the second of its validator.
//   - An entry belongs to the store's identity, the key, the generation and the exact range.
//   - A read that meets kConditionFailed, an Open that finds nothing or another version, and
//     Replaced() make OpenCached find nothing of the version before.
// Thread-safe.
class CachingStore final : public ObjectStore {
 public:
  // Requires: `below` has an identity.
  CachingStore(std::shared_ptr<ObjectStore> below, std::shared_ptr<DiskCache> cache);

  Capabilities capabilities() const override { return below_->capabilities(); }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  Opened OpenCached(std::string_view key, const RangeRequest& first) override;
  std::shared_ptr<ObjectVersion> Recall(std::string_view key, const ObjectInfo& info) override;
  void Replaced(std::string_view key, const std::optional<ObjectInfo>& now) override;
  std::string Identity() const override { return identity_; }
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override;
  Status ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                  const ListVisitor& visitor) override;
  std::string Describe(std::string_view key) const override { return below_->Describe(key); }

 private:
  struct KeptOpening {
    ObjectInfo info;
    Bytes first;
  };
  [[nodiscard]] std::optional<KeptOpening> FindOpening(const CacheDigest& opening,
                                                       const RangeRequest& first) const;
  struct OpenedBelow {
    Opened opened;
    bool kept = false;  // its first bytes are those that are kept
  };
  Result<OpenedBelow> OpenBelow(const CacheDigest& opening, std::string_view key,
                                const RangeRequest& first, const Deadline& deadline);
  [[nodiscard]] CacheDigest OpeningDigest(std::string_view key, bool of_end) const;
  void ForgetOthers(std::string_view key, const Generation& current) const;
  std::shared_ptr<ObjectVersion> Keep(std::shared_ptr<ObjectVersion> version, std::string_view key,
                                      const CacheDigest& opening) const;

  const std::shared_ptr<ObjectStore> below_;
  const std::shared_ptr<DiskCache> cache_;
  const std::string identity_;
};

}  // namespace unshard
