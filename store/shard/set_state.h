// The state of each shard in a shard set. Only for the files that implement store/shard/set.h.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/shard/set.h"

namespace unshard {

// What is known of one shard. All members are guarded by the set's mutex.
struct ShardSet::Shard {
  // A count that is in use: by the current generation, by a referenced generation, or by a
  // generation that a caller still holds.
  struct Alive {
    std::uint32_t count = 0;
    std::uint64_t references = 0;
    std::weak_ptr<const ShardGeneration> generation;  // the latest that has this count
    ShardGenerationPtr referenced;                    // the same, while there are references
    std::weak_ptr<const void> lease;
  };

  ShardGenerationPtr current;  // null before the first successful refresh
  // The generation that was last announced (returned by Invalidate) or first presented. Differs
  // from `current` only between a refresh that found a change and the event that announces it.
  ShardGenerationPtr announced;
  // Generations that were `current` after `announced` and were replaced, by what our own publishes
  // found, before their event came. Each keeps a file open, so that only the first are kept.
  std::vector<ShardGenerationPtr> unannounced;
  bool unannounced_dropped = false;
  std::vector<Alive> alive;
  std::shared_ptr<Refresh> refresh;   // set while a thread refreshes the shard
  std::shared_ptr<Mark> replacing;    // set while an own publish replaces it
  std::uint64_t stale_since = 0;      // the epoch of the last invalidation
  std::uint64_t refreshed_epoch = 0;  // the epoch at the start of the refresh that gave `current`
  std::chrono::steady_clock::time_point refreshed;
  std::uint32_t next_count = 0;
  // The version of which bytes could not be decoded, and that was opened once more.
  std::optional<Generation> doubted;
  bool watched = false;
  bool opened = false;  // by some refresh
  bool failed = false;  // the last refresh
  bool used = true;     // since the last trimming

  // Releases `current`, but keeps it in `unannounced` where it has not been announced.
  void Retire(std::vector<ShardGenerationPtr>& retired) {
    constexpr std::size_t kMostUnannounced = 8;
    if (current && announced && current != announced) {
      if (unannounced.size() < kMostUnannounced) {
        unannounced.push_back(current);
      } else {
        unannounced_dropped = true;
      }
    }
    retired.push_back(std::exchange(current, nullptr));
  }

  // All generations up to `after` have been announced, or the shard is unwatched and none will be.
  void SetAnnounced(ShardGenerationPtr after, std::vector<ShardGenerationPtr>& retired) {
    retired.push_back(std::exchange(announced, std::move(after)));
    retired.insert(retired.end(), unannounced.begin(), unannounced.end());
    unannounced.clear();
    unannounced_dropped = false;
  }

  // Whether no event and no failure contradicts the current generation, however old its last
  // refresh is.
  [[nodiscard]] bool IsUncontradicted() const {
    return current && !failed && refreshed_epoch >= stale_since;
  }
  // The same, and the store need not be asked: by its events, within the ttl, or while an own
  // publish replaces the shard.
  [[nodiscard]] bool IsFresh(const ShardSetOptions& options) const {
    if (!IsUncontradicted()) return false;
    return watched || options.immutable || replacing ||
           options.clock() - refreshed < std::chrono::milliseconds(options.ttl_milliseconds);
  }

  [[nodiscard]] bool Idle() const {
    if (refresh || replacing || (announced && announced != current)) return false;
    const long ours = announced ? 2 : 1;
    if (current && current.use_count() > ours) return false;
    return std::all_of(alive.begin(), alive.end(), [&](const Alive& one) {
      if (one.references != 0) return false;
      const auto holders = one.lease.use_count();
      return holders == 0 || (holders == 1 && current && one.lease.lock() == current->lease);
    });
  }

  Alive* FindAlive(std::uint32_t count) {
    for (Alive& one : alive) {
      if (one.count == count && !one.lease.expired()) return &one;
    }
    return nullptr;
  }

  // The generation by which our own publishes have replaced this one; itself where there were none.
  ShardGenerationPtr Latest(const ShardGenerationPtr& generation) {
    const Alive* one = generation ? FindAlive(generation->count) : nullptr;
    if (one == nullptr || one->lease.lock() != generation->lease) return generation;
    ShardGenerationPtr latest = one->generation.lock();
    return latest ? latest : generation;
  }

  // The next count that no live generation has.
  std::optional<std::uint32_t> TakeCount(std::uint32_t limit) {
    std::erase_if(alive, [](const Alive& one) { return one.lease.expired(); });
    for (std::uint32_t i = 0; i < limit; ++i) {
      const std::uint32_t count = next_count % limit;
      next_count = (count + 1) % limit;
      if (FindAlive(count) == nullptr) return count;
    }
    return std::nullopt;
  }
};

// One refresh of a shard, for which any number of threads wait. Guarded by the set's mutex.
struct ShardSet::Refresh {
  std::uint64_t epoch = 0;  // when it opened the shard
  bool cached = false;      // the store was not asked
  bool patient = false;     // while the shard is being replaced, another version is not adopted
  std::condition_variable_any done;
  bool over = false;
  // Nothing where an own publish made it worthless, or it failed after the deadline of the thread
  // that ran it.
  std::optional<Result<ShardGenerationPtr>> result;
};

// An own publish whose outcome is not known yet. Guarded by the set's mutex.
struct ShardSet::Mark {
  Result<bool> Await(std::unique_lock<std::mutex>& lock, const Deadline& deadline,
                     std::chrono::milliseconds longest);
  std::condition_variable_any done;
  bool over = false;
};

// The owners of what the cache holds of a set: index pages, and bytes of indexes.
struct CacheOwners {
  std::uint64_t pages = 0;
  std::uint64_t held = 0;
};
// A generation whose pages leave the cache when it ends: no caller can ask for them again.
ShardGenerationPtr ShareCached(ShardGeneration generation, std::shared_ptr<IndexCache> cache,
                               const CacheOwners& owners, const ShardFormat& format);

// The set's mutex, and objects whose destruction closes files: they are destroyed after its
// release.
struct ShardSet::Locked {
  explicit Locked(std::mutex& mutex) : lock(mutex) {}
  std::vector<ShardGenerationPtr> retired;
  std::vector<std::unique_ptr<Shard>> forgotten;
  std::unique_lock<std::mutex> lock;
};

struct ShardSet::Opened {
  std::string key;
  bool watched = false;
  std::chrono::steady_clock::time_point begun;
  Result<std::shared_ptr<ObjectVersion>> object;
  HeldIndex held{};
  HeldIndex tail{};
  bool cached = false;  // the store was not asked
};

struct ShardSet::Affected {
  std::uint64_t shard = 0;
  ShardGenerationPtr before;
  bool forgotten = false;
};

}  // namespace unshard
