// Finds out which shards of a tree exist in a store that cannot list: asks for each shard.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "store/shard/set.h"

namespace unshard {

// Remembers the answers for the listing that goes on; a new listing asks again for the shards whose
// ttl has passed. Thread-safe; no lock is held across I/O.
class ShardProbe {
 public:
  // Trees of more shards are not probed: 4096 requests, 64 at a time, take some seconds.
  static constexpr std::uint64_t kMostShards = 4096;
  static constexpr std::size_t kAtOnce = 64;

  explicit ShardProbe(ShardSet& shards) : shards_(shards) {}

  // The numbers below `count` of shards that exist, ascending; those that could not be opened are
  // among them, so that what is wrong with them is reported. `begins`: a new listing. Fails where
  // the store does not answer. Requires: at most kMostShards.
  using Numbers = std::shared_ptr<const std::vector<std::uint64_t>>;
  Result<Numbers> List(std::uint64_t count, bool begins);

 private:
  ShardSet& shards_;
  std::mutex mutex_;
  Numbers latest_;  // guarded by mutex_
};

}  // namespace unshard
