// Own publishes: this process replaces a shard.
//
//   1. BeginReplacement marks the shard. Until step 3 its generation is returned and read as if it
//      were fresh: it is the latest that is known to exist. A caller who knows that the shard has
//      changed, by an event or a failed read, and a refresh that meets another version wait for the
//      outcome.
//   2. The caller replaces the object, which may last as long as an upload.
//   3. Finish opens the object in place of any refresh under way, which may have seen the version
//      before. Where it finds the published one, and the base was the current generation, that
//      takes its place with its count; anything else is a change by another process.
//   4. Without Finish there is no result: the waiting threads refresh the shard themselves.
#include "store/shard/set.h"

#include <algorithm>
#include <utility>

#include "store/local/shard_lock.h"
#include "store/object/catch_exceptions.h"
#include "store/object/key.h"
#include "store/shard/set_state.h"

namespace unshard {
namespace {

// When a generation was validated that comes from a cache: before any ttl.
constexpr std::chrono::steady_clock::time_point kNever{-ReadResult::kCachedAge};
// How often at most one request refreshes a shard that changes again during each refresh.
constexpr int kMostRefreshes = 4;

std::size_t DepthOf(std::string_view key) {
  return static_cast<std::size_t>(std::count(key.begin(), key.end(), '/'));
}

std::optional<Generation> VersionOf(const std::shared_ptr<ObjectVersion>& object) {
  if (!object) return std::nullopt;
  return object->info().generation;
}

}  // namespace

ShardSet::ShardSet(std::shared_ptr<ObjectStore> store, std::string directory,
                   std::shared_ptr<const ShardFormat> format, std::shared_ptr<const ShardKeys> keys,
                   std::shared_ptr<ChangeWatcher> watcher, std::shared_ptr<IndexCache> cache,
                   const ShardSetOptions& options)
    : store_(std::move(store)),
      directory_(std::move(directory)),
      format_(std::move(format)),
      keys_(std::move(keys)),
      opener_(store_, directory_, format_, keys_),
      watcher_(std::move(watcher)),
      cache_(std::move(cache)),
      options_(options),
      cache_owner_(NewCacheOwner()),
      held_owner_(NewCacheOwner()),
      keeps_replaced_versions_(store_->capabilities().keeps_replaced_versions),
      trim_at_(options.max_remembered) {}

ShardSet::~ShardSet() = default;

Result<ShardGenerationPtr> ShardSet::Current(std::uint64_t shard, const Deadline& deadline,
                                             Trust trust) {
  Locked locked(mutex_);
  const auto found = shards_.find(shard);
  const bool within_ttl = trust == Trust::kWithinTtl || trust == Trust::kFresh;
  const bool usable = found != shards_.end() && (within_ttl ? found->second->IsFresh(options_)
                                                            : found->second->IsUncontradicted());
  const bool asks = trust == Trust::kWithinTtl || trust == Trust::kUncontradicted;
  if (!usable && !asks) return ShardGenerationPtr();
  if (!usable) {
    const bool may_be_cached = trust == Trust::kUncontradicted || options_.immutable;
    return Revalidate(locked, shard, deadline,
                      may_be_cached ? Origin::kCacheOrStore : Origin::kStore);
  }
  found->second->used = true;
  return found->second->current;
}

ShardSet::Shard& ShardSet::Remember(Locked& locked, std::uint64_t shard) {
  if (const auto found = shards_.find(shard); found != shards_.end()) return *found->second;
  if (shards_.size() >= trim_at_) Trim(locked);
  key_depth_ = std::max(key_depth_, DepthOf(keys_->Key(shard)));
  auto entry = std::make_unique<Shard>();
  entry->stale_since = epoch_;
  return *shards_.emplace(shard, std::move(entry)).first->second;
}

// Forgets idle shards: first those that were not used since the last time, then any, so that a
// quarter of the bound is free and the next trimming is far away.
void ShardSet::Trim(Locked& locked) {
  const std::size_t enough = options_.max_remembered - options_.max_remembered / 4;
  for (const bool spare_used : {true, false}) {
    for (auto at = shards_.begin(); at != shards_.end() && shards_.size() > enough;) {
      Shard& entry = *at->second;
      const bool spare = spare_used && std::exchange(entry.used, false);
      if (spare || !entry.Idle()) {
        ++at;
        continue;
      }
      locked.forgotten.push_back(std::move(at->second));
      at = shards_.erase(at);
      trimmed_ = true;
    }
  }
  trim_at_ = std::max(options_.max_remembered, shards_.size() + options_.max_remembered / 4 + 1);
}

// Refreshes, or waits for a refresh that is under way. Where the result has been invalidated
// meanwhile, starts over, up to kMostRefreshes times: the kernel would cache it for long.
Result<ShardGenerationPtr> ShardSet::Revalidate(Locked& locked, std::uint64_t shard,
                                                const Deadline& deadline, Origin origin) {
  const std::uint64_t wanted = Remember(locked, shard).stale_since;
  bool patient = true;
  for (int refreshes = 0;;) {
    const Shard& known = Remember(locked, shard);
    if (patient && known.replacing && known.current) {
      const std::shared_ptr<Mark> mark = known.replacing;
      UNSHARD_ASSIGN_OR_RETURN(patient,
                               mark->Await(locked.lock, deadline, options_.outcome_patience));
      const Shard& entry = Remember(locked, shard);
      if (patient && entry.IsUncontradicted()) return entry.current;
      continue;
    }
    std::shared_ptr<Refresh> refresh = Remember(locked, shard).refresh;
    if (refresh) {
      UNSHARD_RETURN_IF_ERROR(WaitUntil(refresh->done, locked.lock, deadline,
                                        "waiting until a shard is opened",
                                        [&] { return refresh->over; }));
    } else {
      refresh = BeginRefresh(locked, shard);
      refresh->patient = patient;
      FinishRefresh(locked, shard, refresh, nullptr, deadline, origin);
      if (!refresh->result) UNSHARD_RETURN_IF_ERROR(deadline.Check("opening a shard"));
    }
    if (!refresh->result) continue;
    if (refresh->cached && origin == Origin::kStore) continue;
    ++refreshes;
    const auto found = shards_.find(shard);
    const bool up_to_date = found == shards_.end() ||
                            refresh->epoch >= found->second->stale_since ||
                            refreshes >= kMostRefreshes;
    if (refresh->epoch >= wanted && up_to_date) return *refresh->result;
  }
}

// False: it was not known in time. Fails as `deadline` does. `lock`: of the set's mutex.
Result<bool> ShardSet::Mark::Await(std::unique_lock<std::mutex>& lock, const Deadline& deadline,
                                   std::chrono::milliseconds longest) {
  Deadline patience = deadline;
  patience.at = std::min(deadline.at, std::chrono::steady_clock::now() + longest);
  constexpr const char* kDoing = "waiting until a shard is replaced";
  if (WaitUntil(done, lock, patience, kDoing, [this] { return over; })) return true;
  UNSHARD_RETURN_IF_ERROR(deadline.Check(kDoing));
  return false;
}

std::shared_ptr<ShardSet::Refresh> ShardSet::BeginRefresh(Locked& locked, std::uint64_t shard) {
  const auto refresh = std::make_shared<Refresh>();
  Remember(locked, shard).refresh = refresh;
  return refresh;
}

void ShardSet::FinishRefresh(Locked& locked, std::uint64_t shard,
                             const std::shared_ptr<Refresh>& refresh, const OwnPublish* own,
                             const Deadline& deadline, Origin origin) {
  refresh->epoch = epoch_;
  // Most events announce the version that is known already, and an own publish need not be read
  // here: where the new version stays readable, its index is read when a request needs it.
  const Shard& known = Remember(locked, shard);
  const bool without_index = (own == nullptr && known.IsUncontradicted()) ||
                             (keeps_replaced_versions_ && known.current != nullptr);
  const RangeRequest first = without_index ? RangeRequest::At(0, 0) : format_->opening_range();
  // What was opened before has been contradicted.
  if (known.opened) origin = Origin::kStore;
  locked.lock.unlock();
  Opened opened;
  const Status no_exception = CatchExceptions([&]() -> Status {
    opened = OpenShard(shard, first, deadline, origin);
    return {};
  });
  if (!no_exception) opened.object = tl::unexpected<Error>(no_exception.error());
  locked.lock.lock();
  Shard& entry = Remember(locked, shard);
  const bool is_outdated = entry.refresh != refresh;  // an own publish has taken its place
  if (!is_outdated) entry.refresh = nullptr;
  const bool meets_own = own == nullptr && refresh->patient && entry.replacing && entry.current &&
                         opened.object &&
                         VersionOf(*opened.object) != VersionOf(entry.current->object);
  if (is_outdated || meets_own) {
    refresh->over = true;
    return refresh->done.notify_all();
  }
  entry.used = true;
  if (opened.object) {
    entry.refreshed = opened.begun;
    entry.refreshed_epoch = refresh->epoch;
    entry.watched = opened.watched;
    entry.opened = true;
    refresh->cached = opened.cached;
  }
  const bool in_time = opened.object || deadline.Check("");
  const HeldIndex held = std::move(opened.held);
  const HeldIndex tail = std::move(opened.tail);
  const void* const object = opened.object ? opened.object->get() : nullptr;
  auto adopted = CatchExceptions([&]() -> Result<ShardGenerationPtr> {
    UNSHARD_ASSIGN_OR_RETURN(auto generation, Adopt(locked, shard, std::move(opened), own));
    const bool is_new = object != nullptr && generation->object.get() == object;
    if (is_new && held.range.size != 0) Hold(*generation, Held::kOwn, held);
    if (is_new && tail.range.size != 0) Hold(*generation, Held::kTail, tail);
    return generation;
  });
  if (in_time) refresh->result = std::move(adopted);
  refresh->over = true;
  refresh->done.notify_all();
}

ShardSetCounters ShardSet::counters() const {
  const std::lock_guard lock(mutex_);
  const auto exist = std::count_if(shards_.begin(), shards_.end(), [](const auto& item) {
    return item.second->current && item.second->current->object;
  });
  return {opener_.opens(), index_reads_.load(), static_cast<std::uint64_t>(exist)};
}

ShardSet::Opened ShardSet::OpenShard(std::uint64_t shard, const RangeRequest& first,
                                     const Deadline& deadline, Origin origin) {
  Opened opened{opener_.KeyOf(shard), false, options_.clock(), nullptr};
  // Before the open, so that each change after it gives an event.
  if (!options_.immutable && watcher_) opened.watched = watcher_->Watch(ParentPath(opened.key));
  auto found = opener_.Open(shard, first, origin, deadline);
  if (!found) {
    opened.object = tl::unexpected<Error>(std::move(found).error());
    return opened;
  }
  if (found->cached) opened.begun = kNever;
  opened.cached = found->cached;
  opened.object = std::move(found->object);
  opened.held = std::move(found->held);
  opened.tail = std::move(found->tail);
  return opened;
}

Result<ShardGenerationPtr> ShardSet::Adopt(Locked& locked, std::uint64_t shard, Opened opened,
                                           const OwnPublish* own) {
  Shard& entry = Remember(locked, shard);
  if (!opened.object) {
    entry.failed = true;  // `current` may be stale, too
    return tl::unexpected<Error>(std::move(opened.object).error());
  }
  entry.failed = false;
  const std::optional<Generation> version = VersionOf(*opened.object);
  if (entry.current && VersionOf(entry.current->object) == version) {
    if (!entry.announced) entry.announced = entry.current;
    return entry.current;
  }
  if (own != nullptr && entry.current && VersionOf(entry.current->object) == own->base &&
      version == own->published) {
    return ReplaceByOwnPublish(locked, entry, std::move(opened), *own);
  }
  // Unwatched shards get no events: forget what was announced.
  if (!opened.watched) entry.SetAnnounced(nullptr, locked.retired);
  entry.Retire(locked.retired);
  const auto count = entry.TakeCount(options_.generation_count_limit);
  if (!count) {
    return Fail(ErrorCode::kResourceExhausted, store_->Describe(opened.key), ": ",
                options_.generation_count_limit, " of its generations are in use at the same time");
  }
  ShardGeneration generation;
  generation.shard = shard;
  generation.count = *count;
  generation.serial = ++last_serial_;
  generation.key = std::move(opened.key);
  generation.object = *std::move(opened.object);
  if (generation.object) generation.modified = generation.object->info().modified;
  generation.lease = std::make_shared<char>();
  entry.current = ShareCached(std::move(generation), cache_, {cache_owner_, held_owner_}, *format_);
  entry.alive.push_back({*count, 0, entry.current, nullptr, entry.current->lease});
  if (!entry.announced) entry.announced = entry.current;
  return entry.current;
}

// Own publishes are not announced: what was announced remains valid for all chunks but the
// published ones. An older `announced` stays: the change by another process after it is still to be
// announced.
ShardGenerationPtr ShardSet::ReplaceByOwnPublish(Locked& locked, Shard& entry, Opened opened,
                                                 const OwnPublish& own) {
  const ShardGenerationPtr before = entry.current;
  ShardGeneration generation(*before);
  generation.serial = ++last_serial_;
  generation.object = *std::move(opened.object);
  if (generation.object && !before->object) {
    generation.modified = generation.object->info().modified;
  }
  if (own.page && generation.object) {
    cache_->Put({cache_owner_, generation.shard, generation.serial, 0},
                {own.page, own.page->memory_bytes()});
  }
  entry.current = ShareCached(std::move(generation), cache_, {cache_owner_, held_owner_}, *format_);
  if (!entry.announced || entry.announced == before) entry.announced = entry.current;
  Shard::Alive* alive = entry.FindAlive(before->count);
  alive->generation = entry.current;  // not null: `before` holds its lease
  if (alive->referenced) locked.retired.push_back(std::exchange(alive->referenced, entry.current));
  locked.retired.push_back(before);
  return entry.current;
}

ShardGenerationPtr ShardSet::Find(std::uint64_t shard, std::uint32_t count) {
  const std::lock_guard lock(mutex_);
  const auto found = shards_.find(shard);
  if (found == shards_.end()) return nullptr;
  const Shard::Alive* alive = found->second->FindAlive(count);
  return alive == nullptr ? nullptr : alive->generation.lock();
}

void ShardSet::AddReference(const ShardGenerationPtr& generation) {
  Locked locked(mutex_);
  Shard& entry = Remember(locked, generation->shard);
  Shard::Alive* alive = entry.FindAlive(generation->count);
  if (alive == nullptr) {
    entry.alive.push_back({generation->count, 0, generation, nullptr, generation->lease});
    alive = &entry.alive.back();
  }
  // References of a count are to the latest generation that has it.
  alive->referenced = alive->generation.lock();
  if (!alive->referenced) alive->generation = alive->referenced = generation;
  ++alive->references;
}

void ShardSet::DropReferences(std::uint64_t shard, std::uint32_t count, std::uint64_t number) {
  Locked locked(mutex_);
  const auto found = shards_.find(shard);
  if (found == shards_.end()) return;
  Shard::Alive* alive = found->second->FindAlive(count);
  if (alive == nullptr) return;
  alive->references -= std::min(number, alive->references);
  if (alive->references == 0) locked.retired.push_back(std::move(alive->referenced));
}

void ShardSet::MarkStale(const ShardGeneration& generation) {
  const std::lock_guard lock(mutex_);
  const auto found = shards_.find(generation.shard);
  if (found == shards_.end() || found->second->current.get() != &generation) return;
  found->second->stale_since = ++epoch_;
}

// A read at `when` that succeeded, from a store that does not keep replaced versions, proves that
// the shard was current.
void ShardSet::MarkValidated(const ShardGeneration& generation,
                             std::chrono::steady_clock::time_point when) {
  const std::lock_guard lock(mutex_);
  const auto found = shards_.find(generation.shard);
  if (found == shards_.end() || found->second->current.get() != &generation) return;
  found->second->refreshed = std::max(found->second->refreshed, when);
}

bool ShardSet::ValidatedSince(const ShardGeneration& generation,
                              std::chrono::steady_clock::time_point when) const {
  const std::lock_guard lock(mutex_);
  const auto found = shards_.find(generation.shard);
  return !keeps_replaced_versions_ && found != shards_.end() &&
         found->second->current.get() == &generation && found->second->IsUncontradicted() &&
         found->second->refreshed >= when;
}

// The shard with this full store key; nothing where it is none of this set.
std::optional<std::uint64_t> ShardSet::ShardAt(const std::string& key) const {
  if (IsAtOrBelow(directory_, key) || !IsAtOrBelow(key, directory_)) return std::nullopt;
  return keys_->Parse(directory_.empty() ? key : key.substr(directory_.size() + 1));
}

std::vector<ShardSet::Affected> ShardSet::MarkStale(const std::string& key) {
  const bool all = IsAtOrBelow(directory_, key);
  std::string relative;
  if (!all) {
    if (!IsAtOrBelow(key, directory_)) return {};
    relative = directory_.empty() ? key : key.substr(directory_.size() + 1);
  }
  const auto one = ShardAt(key);
  std::vector<Affected> affected;
  const std::lock_guard lock(mutex_);
  ++epoch_;
  const auto mark = [&](std::uint64_t shard, Shard& entry) {
    entry.stale_since = epoch_;
    if (entry.current || entry.refresh || entry.announced)
      affected.push_back({shard, entry.announced, false});
  };
  if (one) {
    const auto found = shards_.find(*one);
    if (found != shards_.end()) {
      mark(*one, *found->second);
    } else if (trimmed_) {
      affected.push_back({*one, nullptr, true});
    }
  } else if (all || DepthOf(relative) < key_depth_) {
    for (auto& [shard, entry] : shards_) {
      if (all || IsAtOrBelow(keys_->Key(shard), relative)) mark(shard, *entry);
    }
  }
  return affected;
}

ShardSet::Changes ShardSet::Invalidate(const std::string& key) {
  const std::string shard_key(WithoutLockSuffix(key));
  const bool beside_shard = shard_key != key && ShardAt(shard_key);
  Changes found{{}, beside_shard};
  if (options_.immutable || beside_shard) return found;
  for (Affected& affected : MarkStale(key)) {
    const bool forgotten = affected.forgotten;
    Locked locked(mutex_);
    const auto refreshed = Revalidate(locked, affected.shard, CallerDeadline());
    Shard& entry = Remember(locked, affected.shard);
    ShardGenerationPtr before = std::move(affected.before);
    // The first refresh may have ended after MarkStale: what it presented has to be invalidated.
    if (!before && !affected.forgotten) before = entry.announced;
    // Own publishes are not announced, also those after the refresh.
    before = entry.Latest(before);
    ShardGenerationPtr after = entry.Latest(refreshed ? *refreshed : nullptr);
    if (entry.unannounced_dropped && after) before = nullptr;
    const std::vector<ShardGenerationPtr> between = entry.unannounced;
    entry.SetAnnounced(after, locked.retired);
    if (before != after || !between.empty()) {
      found.changes.push_back({affected.shard, std::move(before), std::move(after), between});
    } else {
      found.up_to_date = refreshed && !forgotten && ShardAt(key) == affected.shard;
    }
  }
  return found;
}

bool ShardSet::has_forgotten() const {
  const std::lock_guard lock(mutex_);
  return trimmed_;
}

Result<ShardSet::Replacement> ShardSet::BeginReplacement(std::uint64_t shard,
                                                         const Deadline& deadline) {
  Locked locked(mutex_);
  while (const std::shared_ptr<Mark> other = Remember(locked, shard).replacing) {
    UNSHARD_RETURN_IF_ERROR(WaitUntil(other->done, locked.lock, deadline,
                                      "waiting for another publish of a shard",
                                      [&] { return other->over; }));
  }
  const auto mark = std::make_shared<Mark>();
  Remember(locked, shard).replacing = mark;
  return Replacement(*this, shard, mark);
}

Result<ShardGenerationPtr> ShardSet::Replacement::Finish(const OwnPublish& own) {
  // Where it cannot be opened now the base must not take its place.
  set_->store_->Replaced(set_->opener_.KeyOf(shard_), std::nullopt);
  Locked locked(set_->mutex_);
  if (const auto outdated = set_->Remember(locked, shard_).refresh) {
    outdated->over = true;
    outdated->done.notify_all();
  }
  const std::shared_ptr<Refresh> refresh = set_->BeginRefresh(locked, shard_);
  const Deadline deadline = CallerDeadline();
  set_->FinishRefresh(locked, shard_, refresh, &own, deadline);
  End(locked);
  if (!refresh->result) return tl::unexpected<Error>(deadline.Check("opening a shard").error());
  return *refresh->result;
}

void ShardSet::Replacement::End(Locked& locked) {
  set_->Remember(locked, shard_).replacing = nullptr;
  mark_->over = true;
  mark_->done.notify_all();
  mark_ = nullptr;
}

ShardSet::Replacement::~Replacement() {
  if (!mark_) return;
  Locked locked(set_->mutex_);
  End(locked);
}

void ShardSet::Renew(std::uint64_t shard) {
  Locked locked(mutex_);
  const auto found = shards_.find(shard);
  if (found == shards_.end()) return;
  found->second->stale_since = ++epoch_;
  found->second->Retire(locked.retired);
}

}  // namespace unshard
