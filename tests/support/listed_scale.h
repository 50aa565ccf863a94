// A precomputed scale of several shards in a store in memory, which counts what a listing reads.
#pragma once

#include <cstdint>
#include <memory>

#include "store/chunks/sharded_tree.h"
#include "tests/support/counting_store.h"

namespace unshard {

class ListedScale {
 public:
  static constexpr std::uint64_t kShards = 8, kMinishards = 4, kChunks = 256;

  // `options`: how the tree reads its shards.
  ListedScale(const Capabilities& capabilities, const ShardSetOptions& options);

  // Lists from the start until `most` names have come. Returns the number of names.
  std::uint64_t List(std::uint64_t most = 2 * kChunks);
  [[nodiscard]] CountingStore& counting() { return *counting_; }

 private:
  std::shared_ptr<CountingStore> counting_;
  std::unique_ptr<ShardedTree> tree_;
};

}  // namespace unshard
