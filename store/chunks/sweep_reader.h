// Reads stored chunks from a remote store: one by one, or many with a request where they are part
// of a sweep.
#pragma once

#include <cstdint>
#include <memory>

#include "store/object/index_cache.h"
#include "store/shard/set.h"

namespace unshard {

class ShardedTree;
class SweepWindows;

// Thread-safe.
class SweepReader {
 public:
  // `cache` also holds what is prefetched and not read yet, at most `max_prefetched` bytes, where
  // the store of the trees is a PrefetchingStore with this cache. Over any other store each chunk
  // is a read of its own.
  SweepReader(std::shared_ptr<ByteBudgetCache> cache, std::uint64_t max_prefetched);
  ~SweepReader();

  // As ShardSet::ReadStored. `range`: of the chunk in `slot`, whole. Requires: a format without
  // outer codecs.
  Result<Bytes> Read(const ShardedTree& tree, const ShardSlot& slot,
                     const ShardGenerationPtr& generation, const ByteRange& range,
                     const Deadline& deadline);

 private:
  [[nodiscard]] CacheKey LayoutKey(const ShardedTree& tree, const ShardGeneration& generation,
                                   std::uint64_t page) const;
  void GoOn(const ShardedTree& tree, const ShardGeneration& last, const Deadline& deadline);

  const std::shared_ptr<ByteBudgetCache> cache_;
  const std::uint64_t layout_owner_;
  const std::unique_ptr<SweepWindows> windows_;
};

}  // namespace unshard
