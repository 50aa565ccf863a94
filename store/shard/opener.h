// Opens the objects of shards, with the bytes where walks to their index pages begin.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "codec/core/error.h"
#include "codec/shard/chunk_locator.h"
#include "codec/shard/format.h"
#include "store/object/object_store.h"
#include "store/shard/index_driver.h"

namespace unshard {

struct OpenedShard {
  std::shared_ptr<ObjectVersion> object;  // null: missing
  HeldIndex held{};                       // the opening range
  // All index pages, where they were read with it.
  HeldIndex tail{};
  bool cached = false;  // the store was not asked
};

// Thread-safe.
//
// Writers of precomputed shards put the index pages one after another at the end of the object
// (CloudVolume, igneous), or each behind the data of its chunks (TensorStore), for all shards of a
// scale. In the first case a request for the end, sent together with that for the shard index,
// saves a round trip to whoever waits for a chunk:
//   1. Each shard index that is read tells whether its pages are at the end, and how many bytes
//      they take.
//   2. The next shard that is opened is asked for so many bytes of its end as well, rounded up,
//      unless these are many, the one before was missing, or requests cost no round trip.
//   3. They are used where both answers are of the same version.
class ShardOpener {
 public:
  ShardOpener(std::shared_ptr<ObjectStore> store, std::string directory,
              std::shared_ptr<const ShardFormat> format, std::shared_ptr<const ShardKeys> keys);

  // The full key in the store.
  [[nodiscard]] std::string KeyOf(std::uint64_t shard) const;

  // Whether the store has to be asked, or what its cache on a disk keeps will do.
  enum class Origin { kStore, kCacheOrStore };
  // Where a shard is missing as one object, looks for its obsolete form of two.
  Result<OpenedShard> Open(std::uint64_t shard, const RangeRequest& first, Origin origin,
                           const Deadline& deadline);

  // Shards opened, or found missing, by asking the store.
  [[nodiscard]] std::uint64_t opens() const { return opens_.load(); }

  // The most bytes of an end that are read with the shard index.
  static constexpr std::uint64_t kMostTailBytes = std::uint64_t{256} << 10;

 private:
  [[nodiscard]] RangeRequest Tail(const RangeRequest& first) const;
  void Learn(const ObjectStore::Opened& opened, const RangeRequest& first);
  OpenedShard OpenCached(const std::string& key, const RangeRequest& first);
  Result<ObjectStore::Opened> OpenPair(std::uint64_t shard, const RangeRequest& first,
                                       const Deadline& deadline);

  const std::shared_ptr<ObjectStore> store_;
  const std::string directory_;
  const std::shared_ptr<const ShardFormat> format_;
  const std::shared_ptr<const ShardKeys> keys_;
  const bool keeps_replaced_versions_;
  // Some shard was found as one object: of a missing one only the first half of the obsolete form
  // is asked for as well, where each request counts.
  std::atomic<bool> found_whole_{false};
  std::atomic<bool> last_was_missing_{false};
  std::atomic<std::uint64_t> tail_bytes_{0};  // of the shard that was opened last
  std::atomic<std::uint64_t> opens_{0};
};

}  // namespace unshard
