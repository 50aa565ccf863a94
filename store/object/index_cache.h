// A byte-budgeted cache with single-flight loads; one serves the index pages of all shard sets,
// one the decoded chunks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "store/object/byte_gate.h"
#include "store/object/deadline.h"

namespace unshard {

// What a cached value belongs to. `owner` is unique per shard set or view (NewCacheOwner); it
// defines the rest.
struct CacheKey {
  std::uint64_t owner = 0;
  std::uint64_t shard = 0;
  std::uint64_t count = 0;
  std::uint64_t page = 0;
  friend bool operator==(const CacheKey&, const CacheKey&) = default;
};

std::uint64_t NewCacheOwner();

struct CacheCounters {
  std::uint64_t hits = 0, misses = 0, evictions = 0, bytes = 0, entries = 0;
};

// Least-recently-used within `max_bytes`; brief values among themselves. Values are shared and
// immutable. Thread-safe; loads run without a lock, and concurrent misses of one key share one load
// (also its failure, which is not kept). Where a load fails after the deadline of the thread that
// runs it, the other threads do not share that failure: one of them runs it again. A value larger
// than the whole budget is returned but not kept. Loads that say what memory they need wait until
// those under way leave room for it.
class ByteBudgetCache {
 public:
  // The part of the budget above which brief values are evicted before all others.
  static constexpr std::uint64_t kBriefShare = 4;
  // What an entry costs beside its value: list and hash nodes. Counted, so that very many very
  // small values stay within the budget too.
  static constexpr std::uint64_t kEntryOverhead = 160;

  using Value = std::shared_ptr<const void>;
  struct Loaded {
    Value value;
    std::uint64_t bytes = 0;
    // A value that is wanted for a moment, and of which a part may be kept beside it.
    bool brief = false;
  };
  using Loader = std::function<Result<Loaded>()>;

  // `max_loading`: the memory of all loads under way that say what they need; 0: no limit.
  explicit ByteBudgetCache(std::uint64_t max_bytes, std::uint64_t max_loading = 0);
  ~ByteBudgetCache();

  // `deadline` ends the wait for another thread's load, and for room; `load` itself has to heed it.
  // `needs`: the memory of the load, in bytes; 0: it does not wait for room. Inside of a load that
  // does, only those may be run that do not.
  Result<Value> Get(const CacheKey& key, const Deadline& deadline, const Loader& load,
                    std::uint64_t needs = 0);
  // Inserts a value that was not loaded by Get.
  void Put(const CacheKey& key, Loaded loaded);
  // The value if it is cached; null otherwise. Starts no load; counts neither a hit nor a miss.
  Value Peek(const CacheKey& key);
  void Erase(const CacheKey& key);
  // The values of `pages` keys: this one and the next pages, or, with 0, all pages. Requires: none
  // of them is being loaded.
  void EraseAll(const CacheKey& first, std::uint64_t pages);
  [[nodiscard]] CacheCounters counters() const;
  [[nodiscard]] std::uint64_t max_bytes() const;
  // What loads wait for that say what memory they need: for other work of their kind.
  [[nodiscard]] ByteGate& loading();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

using IndexCache = ByteBudgetCache;

}  // namespace unshard
