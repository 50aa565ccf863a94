// A cache on a disk that outlives the process: what remote stores have sent, by digest.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "codec/core/error.h"
#include "store/cache/cache_files.h"
#include "store/cache/entry.h"
#include "store/local/file_system.h"

namespace unshard {

struct DiskCacheOptions {
  std::uint64_t max_bytes = std::uint64_t{4} << 30;
  // In memory, of what is still to be written.
  std::uint64_t max_queued_bytes = std::uint64_t{32} << 20;
};

struct DiskCacheCounters {
  std::uint64_t hits = 0, misses = 0;
  std::uint64_t written = 0;
  std::uint64_t dropped = 0;  // not written: the disk was too slow, or failed
  std::uint64_t damaged = 0;  // entries that failed their checksum
  std::uint64_t evictions = 0;
  std::uint64_t waiting = 0;  // entries that are still to be written or erased
  std::uint64_t bytes = 0;    // of all mounts that use the folder, as far as known
};

// Thread-safe. A lost or damaged entry, and any failure of the disk, is a miss. Writing is done by
// a thread of its own, and never waited for. The cap holds for all mounts that use the folder
// together, as long as they are few: each mount adds up all entries again before it has written
// an eighth of what was left.
class DiskCache {
 public:
  // Makes the folder where it is missing, for its owner alone (0700). Fails, naming it, where it is
  // another user's, or others may enter it: they could read and replace what is in it. Starts a
  // thread.
  static Result<std::shared_ptr<DiskCache>> Open(const std::string& folder,
                                                 const DiskCacheOptions& options);
  // In a folder that is open. `reopen`: opens it again where it has been removed; null: it is not.
  using Reopen = std::function<Result<std::shared_ptr<FileSystem>>()>;
  DiskCache(std::shared_ptr<FileSystem> folder, const DiskCacheOptions& options, Reopen reopen);
  // Writes what is still to be written.
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  // An entry of more bytes is not kept.
  [[nodiscard]] std::uint64_t max_entry_bytes() const { return max_entry_bytes_; }
  std::optional<CacheEntry> Find(const CacheDigest& digest);
  // The same, without counting it.
  std::optional<CacheEntry> Peek(const CacheDigest& digest);
  // Whether Find would most likely find it. Counts neither a hit nor a miss.
  [[nodiscard]] bool Has(const CacheDigest& digest);
  void Put(const CacheDigest& digest, CacheEntry entry);
  void Erase(const CacheDigest& digest);
  [[nodiscard]] DiskCacheCounters counters() const;

  // Waits until what was put is written or discarded.
  void Flush();

 private:
  struct Change {
    CacheDigest digest{};
    std::optional<CacheEntry> entry;  // nothing: erase
  };
  void Run();
  void Apply(const Change& change);
  void Count(std::uint64_t DiskCacheCounters::*counter);
  void Shrink();
  [[nodiscard]] std::shared_ptr<CacheFiles> files() const;
  [[nodiscard]] bool Reopened();

  const DiskCacheOptions options_;
  const std::uint64_t max_entry_bytes_;
  const Reopen reopen_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_.
  std::shared_ptr<CacheFiles> files_;
  std::deque<Change> queue_;
  std::uint64_t queued_bytes_ = 0;
  bool busy_ = false;
  bool ends_ = false;
  DiskCacheCounters counters_;
  // Used by the thread alone.
  std::uint64_t until_shrink_ = 0;  // bytes to write before all are added up again
  std::chrono::steady_clock::time_point not_before_{};  // after a failure
  std::thread thread_;
};

}  // namespace unshard
