// Prefetches ranges of the objects of a remote store into memory.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "store/object/index_cache.h"
#include "store/object/object_store.h"

namespace unshard {

// Forwards everything to the store below, but its versions implement Prefetch: one request for the
// range, which does not wait. Until it has been read whole, or the cache has evicted it, reads
// within prefetched ranges are served from them:
//   - A read waits for a request that is under way. Its own deadline and interrupt end its wait,
//     and never the request.
//   - Bytes of several ranges that follow one another are joined.
//   - Where the request fails, each of the reads that wait for it asks the store itself. Where it
//     finds that the version has been replaced (kConditionFailed), that is their result too.
//   - ReadResult::age says how long ago the store was asked.
//   - What is prefetched already is not requested once more.
// A range that has arrived counts in `cache` with its size; one under way counts nowhere: the
// caller of Prefetch limits how many there are. Thread-safe.
class PrefetchingStore final : public ObjectStore {
 public:
  // A request that prefetches fails after this time, so that the reads that wait for it have time
  // left for their own.
  static constexpr std::chrono::seconds kPatience{20};

  PrefetchingStore(std::shared_ptr<ObjectStore> below, std::shared_ptr<ByteBudgetCache> cache);

  Capabilities capabilities() const override { return below_->capabilities(); }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override;
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override;
  Result<Opened> OpenUnlessKnown(std::string_view key, const RangeRequest& first,
                                 const ObjectInfo& known, const Deadline& deadline) override;
  std::shared_ptr<ObjectVersion> Recall(std::string_view key, const ObjectInfo& info) override;
  std::string Identity() const override { return below_->Identity(); }
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override;
  Status ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                  const ListVisitor& visitor) override;
  std::string Describe(std::string_view key) const override { return below_->Describe(key); }

 private:
  [[nodiscard]] Result<Opened> Prefetching(Result<Opened> opened) const;

  const std::shared_ptr<ObjectStore> below_;
  const std::shared_ptr<ByteBudgetCache> cache_;
};

}  // namespace unshard
