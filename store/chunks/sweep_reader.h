// Reads stored chunks from a remote store: one by one, or many with a request where they are part
// of a sweep.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "store/chunks/read_ahead.h"
#include "store/object/background_call.h"
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
  [[nodiscard]] CacheKey LayoutKey(std::uint64_t ordinal, const ShardGeneration& generation,
                                   std::uint64_t page) const;
  // What is known of a tree, which may be gone before a request for it has ended.
  struct Tree {
    std::uint64_t ordinal = 0;
    std::shared_ptr<ShardSet> shards;
  };
  void GoOn(const ShardedTree& tree, const ShardGeneration& last, bool may_ask,
            const Deadline& deadline);
  void GoOnIn(const Tree& tree, const ReadAhead::Shard& last, const ShardGenerationPtr& next,
              const std::shared_ptr<const IndexPage>& page, const Deadline& deadline);

  const std::shared_ptr<ByteBudgetCache> cache_;
  const std::uint64_t layout_owner_;
  const std::unique_ptr<SweepWindows> windows_;
  BackgroundCall asking_;  // declared last: its call uses the others
};

}  // namespace unshard
