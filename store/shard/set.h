// The shards of one sharded directory or array: their generations and index pages.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "codec/shard/chunk_locator.h"
#include "codec/shard/format.h"
#include "store/object/byte_gate.h"
#include "store/object/change_watcher.h"
#include "store/object/index_cache.h"
#include "store/object/object_store.h"
#include "store/shard/data_before_pages.h"
#include "store/shard/index_driver.h"
#include "store/shard/opener.h"

namespace unshard {

// One generation of one shard. `count` distinguishes the generations of a shard that are alive at
// the same time; it is part of FUSE node numbers. A generation that this process published has the
// count of the generation before: its other chunks remain the same files. Immutable; thread-safe.
struct ShardGeneration {
  std::uint64_t shard = 0;
  std::uint32_t count = 0;
  std::uint64_t serial = 0;               // unique in this set: for cache keys
  std::string key;                        // in the store, for messages
  std::shared_ptr<ObjectVersion> object;  // null: the shard is missing, all its chunks are empty
  // st_mtime of its chunks: of the object or, after our own publish, of the generation before if
  // that had an object.
  timespec modified{};
  std::shared_ptr<const void> lease;  // keeps `count` in use: held by all that have it
};
using ShardGenerationPtr = std::shared_ptr<const ShardGeneration>;

struct ShardSetOptions {
  std::uint64_t max_index_bytes = std::uint64_t{128} << 20;  // of one decoded index page
  // Of a shard that is decoded by outer codecs.
  std::uint64_t max_whole_shard_bytes = std::uint64_t{128} << 20;
  // Where several sets share the memory for shards that are decoded by outer codecs; null: no
  // limit.
  std::shared_ptr<ByteGate> decoding = nullptr;
  std::uint32_t generation_count_limit = 1u << 9;  // counts run below this; 2 or more
  // How long an unwatched shard counts as current after it was opened or, where the store does not
  // keep replaced versions, read.
  std::uint64_t ttl_milliseconds = 1000;
  bool immutable = false;                 // the source never changes: neither watch nor revalidate
  std::size_t max_remembered = 1u << 16;  // shards without references, see below
  // How long the outcome of an own publish is waited for where the shard has changed meanwhile.
  std::chrono::milliseconds outcome_patience{5000};
  std::function<std::chrono::steady_clock::time_point()> clock = std::chrono::steady_clock::now;
};

// What a shard set has asked of the store, and what it has of it.
struct ShardSetCounters {
  std::uint64_t opens = 0;        // shards opened, or found missing
  std::uint64_t index_reads = 0;  // range reads of index walks, beside those that open a shard
  std::uint64_t open_shards = 0;  // the remembered shards that exist
};

// Thread-safe. No lock is held across I/O.
//
// Life of a shard here:
//   1. The first Current() watches the directory, then opens the object, so that a change between
//      the two gives an event.
//   2. The generation stays current until Invalidate() (a watcher's event) or, unwatched, until the
//      ttl has passed. Then a refresh opens the object again and compares generations: the same one
//      keeps its count, a new one gets the next free count.
//   3. A generation that is no longer current stays reachable by its count, with its descriptor
//      open, while referenced (AddReference/DropReferences, the kernel's nlookup).
//   4. Opening a shard also reads the beginning of its index (ShardFormat::opening_range), which
//      the cache holds for the walks to its pages. A refresh for no other reason than the ttl reads
//      no bytes: mostly the shard has not changed.
//      Where a cache on a disk holds the shard (ObjectStore::OpenCached), the first open takes it
//      from there for callers with Trust::kUncontradicted, and for all where the source is
//      immutable: their first read validates it.
//   5. A read that meets kConditionFailed fails with kConflict and marks the generation stale; the
//      caller starts over with Current(), which refreshes. Invalidate() still returns that change
//      when its event comes.
//   6. Our own publish replaces a generation by one with the same count, to which its references
//      move (BeginReplacement). Invalidate() does not return that change. Until the outcome is
//      known, the generation before it is served without a request.
//   7. When more than `max_remembered` shards are known, those without references and users are
//      forgotten, first those that were not requested since the last trimming. Missing shards are
//      remembered like others. An error is never remembered.
//   8. Where index pages stand behind the data of their chunks, both are one request for callers
//      that are going to read a chunk (store/shard/data_before_pages.h).
class ShardSet {
  struct Refresh;
  struct Mark;
  struct Locked;

 public:
  ShardSet(std::shared_ptr<ObjectStore> store, std::string directory,
           std::shared_ptr<const ShardFormat> format, std::shared_ptr<const ShardKeys> keys,
           std::shared_ptr<ChangeWatcher> watcher, std::shared_ptr<IndexCache> cache,
           const ShardSetOptions& options);
  ~ShardSet();

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const ShardFormat& format() const { return *format_; }
  [[nodiscard]] const ShardKeys& keys() const { return *keys_; }
  [[nodiscard]] const ShardSetOptions& options() const { return options_; }

  // When a generation that was validated earlier counts as current.
  enum class Trust {
    kWithinTtl,       // while it is watched, or within the ttl
    kUncontradicted,  // until an event or a failed read contradicts it, however long ago it was
                      // validated: for callers that validate it by reading
    kFresh,           // as kWithinTtl, but no request is sent: null where one would be
    kKnown,           // as kUncontradicted, in the same way
  };
  // The generation that the store holds now, as far as `trust` tells without a request. `deadline`
  // limits the waits of this method and of those below; an operation that other callers wait for as
  // well goes on.
  Result<ShardGenerationPtr> Current(std::uint64_t shard, const Deadline& deadline,
                                     Trust trust = Trust::kWithinTtl);
  // Whether a read that began at `when` or later has proved that the generation is current. Never
  // true where the store keeps replaced versions. `when` is a time of the options' clock.
  [[nodiscard]] bool ValidatedSince(const ShardGeneration& generation,
                                    std::chrono::steady_clock::time_point when) const;
  // The generation with this count: current, or old and still referenced. Null where it is gone.
  ShardGenerationPtr Find(std::uint64_t shard, std::uint32_t count);
  // An index page of a generation: cached, or loaded by exactly one of the threads that request it.
  // An empty page where the shard is missing. kConflict where the object was overwritten.
  // kChunks: the caller is going to read a chunk of the page (step 8). kCached: the page is not
  // loaded; null where it is not cached. kBegun: the same, but the store is asked to begin to read
  // what a load would read first.
  enum class Ahead { kNone, kChunks, kCached, kBegun };
  Result<std::shared_ptr<const IndexPage>> Page(const ShardGenerationPtr& generation,
                                                std::uint64_t page, const Deadline& deadline,
                                                Ahead ahead = Ahead::kNone);
  // The size of the object that index ranges refer to; requires a generation that is not missing.
  Result<std::uint64_t> DecodedSize(const ShardGenerationPtr& generation, const Deadline& deadline);
  // Stored bytes of an entry: of the object, or of the decoded object where the format has outer
  // codecs. kConflict where the object was overwritten.
  Result<Bytes> ReadStored(const ShardGenerationPtr& generation, const ByteRange& range,
                           const Deadline& deadline);
  // Bytes of this generation cannot be decoded. True, once for each version: they may be bytes of
  // two, since the store has only weak validators to tell these apart, and the next Current() opens
  // the shard as another generation, whose index is read anew. False: they are damaged.
  bool CountsAsChanged(const ShardGeneration& generation);
  // The same as a slice of the shard's file, where that is possible.
  std::optional<FileSlice> SliceStored(const ShardGenerationPtr& generation,
                                       const ByteRange& range);

  // True: from return on, each change of an entry directly in a directory of the store gives an
  // event (an immutable store has none). False: there are no events.
  bool Watch(const std::string& store_directory) {
    return options_.immutable || (watcher_ && watcher_->Watch(store_directory));
  }

  // Counts the kernel's references to chunks of a generation.
  void AddReference(const ShardGenerationPtr& generation);
  void DropReferences(std::uint64_t shard, std::uint32_t count, std::uint64_t number);

  // Our own publish of a shard: the object before it and the object after it; nothing where there
  // was or is none. `page`: the only index page of the object after it; null where the format has
  // several, or its entries are no ranges of the object.
  struct OwnPublish {
    std::optional<Generation> base;
    std::optional<Generation> published;
    std::shared_ptr<const IndexPage> page = nullptr;
    bool certain = true;  // false: it is not known whether it has happened
  };
  // Marks one shard, from just before our own publish replaces it until the outcome is known. The
  // store may need long for that: meanwhile Current() returns the generation that is known,
  // whatever its age. Only callers who know that the shard has changed wait for the outcome, for
  // `outcome_patience` at most; then they take the change for that of another process. So the
  // holder must not call Current() for this shard.
  class Replacement {
   public:
    ~Replacement();  // without Finish: waiting threads refresh the shard themselves
    Replacement(Replacement&&) = default;
    Replacement& operator=(Replacement&&) = delete;
    // Opens the object, once, after it was replaced, and discards what a refresh under way finds.
    // Where it is `own.published` and `own.base` was current, the returned generation has the count
    // of the one before and Invalidate does not return the change; anything else is a change by
    // another process. Fails like Current().
    Result<ShardGenerationPtr> Finish(const OwnPublish& own);

   private:
    friend class ShardSet;
    Replacement(ShardSet& set, std::uint64_t shard, std::shared_ptr<Mark> mark)
        : set_(&set), shard_(shard), mark_(std::move(mark)) {}
    void End(Locked& locked);
    ShardSet* const set_;
    const std::uint64_t shard_;
    std::shared_ptr<Mark> mark_;
  };
  // Waits for another replacement of the shard, not for a refresh. Fails as `deadline` does.
  Result<Replacement> BeginReplacement(std::uint64_t shard, const Deadline& deadline);
  // The next refresh gives the shard another count, as if another process had replaced it, and
  // Invalidate returns that change.
  void Renew(std::uint64_t shard);

  // A change of a shard, which the invalidating thread announces outside any request. `before` or
  // `after` is null where it is not known; at most one of them is.
  struct Change {
    std::uint64_t shard = 0;
    ShardGenerationPtr before;
    ShardGenerationPtr after;
    // Presented after `before` and replaced before `after`: the kernel may have cached chunks that
    // neither of those two has.
    std::vector<ShardGenerationPtr> between;
  };
  struct Changes {
    std::vector<Change> changes;
    // There is nothing to announce: `key` is that of one remembered shard, whose generation was
    // announced before or published by this process, or that of a file which publishing creates
    // beside a shard.
    bool up_to_date = false;
  };
  // The object under `key` (full store key) may have changed; an empty key: every shard; an
  // ancestor directory: all shards below it. Refreshes those of them that are remembered, and
  // returns each whose generation differs from its last announced or first presented generation.
  // `after` is null where the refresh failed, `before` where the shard had been forgotten, or has
  // presented more generations since than are kept.
  Changes Invalidate(const std::string& key);

  // Whether a shard that was requested has been forgotten.
  [[nodiscard]] bool has_forgotten() const;
  [[nodiscard]] ShardSetCounters counters() const;

 private:
  struct Shard;
  struct Opened;
  struct Affected;

  Shard& Remember(Locked& locked, std::uint64_t shard);
  void Trim(Locked& locked);
  using Origin = ShardOpener::Origin;
  Result<ShardGenerationPtr> Revalidate(Locked& locked, std::uint64_t shard,
                                        const Deadline& deadline, Origin origin = Origin::kStore);
  std::shared_ptr<Refresh> BeginRefresh(Locked& locked, std::uint64_t shard);
  void FinishRefresh(Locked& locked, std::uint64_t shard, const std::shared_ptr<Refresh>& refresh,
                     const OwnPublish* own, const Deadline& deadline,
                     Origin origin = Origin::kStore);
  Opened OpenShard(std::uint64_t shard, const RangeRequest& first, const Deadline& deadline,
                   Origin origin);
  Result<ShardGenerationPtr> Adopt(Locked& locked, std::uint64_t shard, Opened opened,
                                   const OwnPublish* own);
  ShardGenerationPtr ReplaceByOwnPublish(Locked& locked, Shard& entry, Opened opened,
                                         const OwnPublish& own);
  [[nodiscard]] std::optional<std::uint64_t> ShardAt(const std::string& key) const;
  std::vector<Affected> MarkStale(const std::string& key);
  void MarkStale(const ShardGeneration& generation);
  void MarkValidated(const ShardGeneration& generation, std::chrono::steady_clock::time_point when);

  // Bytes of an index that the cache holds for the walks to its pages: those of the shard's own
  // index, and those of its end.
  enum class Held : std::uint64_t { kOwn, kTail };
  [[nodiscard]] HeldIndex HeldOf(const ShardGeneration& generation, Held which) const;
  void Hold(const ShardGeneration& generation, Held which, const HeldIndex& held);
  Result<IndexPage> Walk(const ShardGeneration& generation, std::uint64_t page,
                         const Deadline& deadline, Ahead ahead);
  // kConflict in place of kDataLoss where the generation has been replaced, or may have been.
  tl::unexpected<Error> DamagedOrReplaced(const ShardGeneration& generation, Error error,
                                          const Deadline& deadline);
  Result<Bytes> ReadObject(const ShardGeneration& generation, const ByteRange& range,
                           const Deadline& deadline);
  Result<Bytes> DecodedObject(const ShardGeneration& generation, const Deadline& deadline);

  const std::shared_ptr<ObjectStore> store_;
  const std::string directory_;
  const std::shared_ptr<const ShardFormat> format_;
  const std::shared_ptr<const ShardKeys> keys_;
  ShardOpener opener_;
  const std::shared_ptr<ChangeWatcher> watcher_;
  const std::shared_ptr<IndexCache> cache_;
  const ShardSetOptions options_;
  // Distinguish this set's pages, and its held bytes of indexes, in the shared cache.
  const std::uint64_t cache_owner_;
  const std::uint64_t held_owner_;
  const bool keeps_replaced_versions_;

  mutable std::mutex mutex_;
  // All guarded by mutex_.
  std::unordered_map<std::uint64_t, std::unique_ptr<Shard>> shards_;
  std::uint64_t epoch_ = 0;        // counts invalidations
  std::uint64_t last_serial_ = 0;  // of generations
  std::size_t trim_at_;            // number of shards at which idle ones are forgotten
  std::size_t key_depth_ = 0;      // directories between directory_ and a shard
  bool trimmed_ = false;           // some shard has been forgotten

  std::atomic<std::uint64_t> index_reads_{0};
  DataBeforePages data_before_;
};

}  // namespace unshard
