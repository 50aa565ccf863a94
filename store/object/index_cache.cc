#include "store/object/index_cache.h"

#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "store/object/catch_exceptions.h"

namespace unshard {
namespace {

struct HashCacheKey {
  std::size_t operator()(const CacheKey& key) const {
    std::uint64_t hash = key.owner;
    for (const std::uint64_t part : {key.shard, key.count, key.page}) {
      hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
    return static_cast<std::size_t>(hash);
  }
};

struct Entry {
  CacheKey key;
  ByteBudgetCache::Value value;
  std::uint64_t bytes = 0;
  bool brief = false;
};

// One load that any number of threads wait for.
struct Flight {
  std::condition_variable_any landed;
  bool over = false;
  // Nothing where the load failed after the deadline of the thread that ran it.
  std::optional<Result<ByteBudgetCache::Value>> result;
  bool keep = true;  // false: the key was erased meanwhile
};

}  // namespace

std::uint64_t NewCacheOwner() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

struct ByteBudgetCache::State {
  using Entries = std::list<Entry>;

  State(std::uint64_t max, std::uint64_t max_loading) : max_bytes(max), loading(max_loading) {}

  // Returns the evicted entries, to be destroyed after the lock.
  Entries Insert(const CacheKey& key, const Loaded& loaded);
  Entries Remove(const CacheKey& key);
  // The entry that is used from now on.
  Value Use(Entries::iterator entry);
  Entries& ListOf(bool brief) { return brief ? brief_entries : entries; }
  // Moves an entry out of its list.
  void Take(Entries::iterator entry, Entries& to);

  const std::uint64_t max_bytes;
  ByteGate loading;
  mutable std::mutex mutex;
  // All guarded by mutex.
  Entries entries, brief_entries;  // most recently used first
  std::uint64_t brief_bytes = 0;
  std::unordered_map<CacheKey, Entries::iterator, HashCacheKey> by_key;
  std::unordered_map<CacheKey, std::shared_ptr<Flight>, HashCacheKey> flights;
  CacheCounters counters;
};

ByteBudgetCache::Value ByteBudgetCache::State::Use(Entries::iterator entry) {
  Entries& list = ListOf(entry->brief);
  list.splice(list.begin(), list, entry);
  return entry->value;
}

void ByteBudgetCache::State::Take(Entries::iterator entry, Entries& to) {
  counters.bytes -= entry->bytes;
  if (entry->brief) brief_bytes -= entry->bytes;
  by_key.erase(entry->key);
  to.splice(to.end(), ListOf(entry->brief), entry);
}

ByteBudgetCache::State::Entries ByteBudgetCache::State::Insert(const CacheKey& key,
                                                               const Loaded& loaded) {
  if (loaded.bytes > max_bytes || kEntryOverhead > max_bytes - loaded.bytes) return {};
  Entries evicted = Remove(key);
  Entries& list = ListOf(loaded.brief);
  list.push_front({key, loaded.value, loaded.bytes + kEntryOverhead, loaded.brief});
  by_key.emplace(key, list.begin());
  counters.bytes += list.front().bytes;
  if (loaded.brief) brief_bytes += list.front().bytes;
  while (counters.bytes > max_bytes) {
    bool brief = brief_bytes > max_bytes / kBriefShare;
    // Never what has just come: the other list has what is in its way then.
    const Entries& first = ListOf(brief);
    if (first.empty() || first.back().key == key) brief = !brief;
    Take(std::prev(ListOf(brief).end()), evicted);
    ++counters.evictions;
  }
  return evicted;
}

ByteBudgetCache::State::Entries ByteBudgetCache::State::Remove(const CacheKey& key) {
  Entries removed;
  const auto found = by_key.find(key);
  if (found != by_key.end()) Take(found->second, removed);
  return removed;
}

ByteBudgetCache::ByteBudgetCache(std::uint64_t max_bytes, std::uint64_t max_loading)
    : state_(std::make_unique<State>(max_bytes, max_loading)) {}

ByteBudgetCache::~ByteBudgetCache() = default;

Result<ByteBudgetCache::Value> ByteBudgetCache::Get(const CacheKey& key, const Deadline& deadline,
                                                    const Loader& load, std::uint64_t needs) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  bool missed = false;
  for (;;) {
    if (const auto found = state.by_key.find(key); found != state.by_key.end()) {
      if (!missed) ++state.counters.hits;
      return state.Use(found->second);
    }
    if (!std::exchange(missed, true)) ++state.counters.misses;
    const auto found = state.flights.find(key);
    if (found == state.flights.end()) break;
    const std::shared_ptr<Flight> flight = found->second;
    UNSHARD_RETURN_IF_ERROR(WaitUntil(flight->landed, lock, deadline,
                                      "waiting for the read of another request",
                                      [&] { return flight->over; }));
    if (flight->result) return *flight->result;
  }
  const auto flight = std::make_shared<Flight>();
  state.flights.emplace(key, flight);
  lock.unlock();

  ByteGate::Pass room;  // until the value is in the cache, whose budget it counts towards then
  // After an uncaught exception the other threads would wait for ever.
  Result<Loaded> loaded = CatchExceptions([&]() -> Result<Loaded> {
    if (needs != 0) {
      UNSHARD_ASSIGN_OR_RETURN(room, state.loading.Enter(needs, deadline));
    }
    return load();
  });
  const bool in_time = loaded || deadline.Check("");

  lock.lock();
  State::Entries evicted;
  if (loaded && flight->keep) {
    const Status kept = CatchExceptions([&]() -> Status {
      evicted = state.Insert(key, *loaded);
      return {};
    });
    if (!kept) loaded = tl::unexpected<Error>(kept.error());
  }
  Result<Value> result = loaded.map([](Loaded& value) { return value.value; });
  if (in_time) flight->result = result;
  flight->over = true;
  // After Erase the key may have a younger flight.
  const auto found = state.flights.find(key);
  if (found != state.flights.end() && found->second == flight) state.flights.erase(found);
  flight->landed.notify_all();
  lock.unlock();
  return result;
}

void ByteBudgetCache::Put(const CacheKey& key, Loaded loaded) {
  State::Entries evicted;  // destroyed after the lock
  const std::lock_guard lock(state_->mutex);
  evicted = state_->Insert(key, loaded);
}

ByteBudgetCache::Value ByteBudgetCache::Peek(const CacheKey& key) {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->by_key.find(key);
  if (found == state_->by_key.end()) return nullptr;
  return state_->Use(found->second);
}

void ByteBudgetCache::Erase(const CacheKey& key) {
  State::Entries removed;  // destroyed after the lock
  const std::lock_guard lock(state_->mutex);
  removed = state_->Remove(key);
  if (const auto found = state_->flights.find(key); found != state_->flights.end()) {
    found->second->keep = false;
    state_->flights.erase(found);
  }
}

void ByteBudgetCache::EraseAll(const CacheKey& first, std::uint64_t pages) {
  State::Entries removed;  // destroyed after the lock
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  if (pages != 0 && pages <= state.by_key.size()) {
    CacheKey key = first;
    for (std::uint64_t i = 0; i < pages; ++i, ++key.page) {
      removed.splice(removed.end(), state.Remove(key));
    }
    return;
  }
  for (State::Entries* const list : {&state.entries, &state.brief_entries}) {
    for (auto at = list->begin(); at != list->end();) {
      const auto entry = at++;
      CacheKey key = entry->key;
      const bool in_range = pages == 0 || key.page - first.page < pages;
      key.page = first.page;
      if (in_range && key == first) state.Take(entry, removed);
    }
  }
}

ByteGate& ByteBudgetCache::loading() { return state_->loading; }

CacheCounters ByteBudgetCache::counters() const {
  const std::lock_guard lock(state_->mutex);
  CacheCounters counters = state_->counters;
  counters.entries = state_->by_key.size();
  return counters;
}

std::uint64_t ByteBudgetCache::max_bytes() const { return state_->max_bytes; }

}  // namespace unshard
