#include "store/cache/disk_cache.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "store/local/posix_file_system.h"
#include "store/local/private_folder.h"
#include "store/object/catch_exceptions.h"
#include "store/object/log.h"
#include "store/object/thread_without_signals.h"
#include "store/object/time_now.h"

namespace unshard {
namespace {

// The layout of the folder; another one gets another name.
constexpr const char* kLayout = "v1";
constexpr std::size_t kMostQueued = 4096;
constexpr std::uint64_t kLargestEntry = std::uint64_t{16} << 20;
constexpr std::chrono::seconds kAfterFailure{10};

Result<std::shared_ptr<FileSystem>> OpenFolder(const std::string& folder) {
  const PrivateFolder cache{folder, "cache folder", "name another with -o cache=DIR"};
  UNSHARD_ASSIGN_OR_RETURN(const auto files, MakePrivateFolder(cache));
  UNSHARD_RETURN_IF_ERROR(MakeDirectories(*files, kLayout));
  return OpenBelow(*files, kLayout, NewFiles::kPrivate);
}

}  // namespace

Result<std::shared_ptr<DiskCache>> DiskCache::Open(const std::string& folder,
                                                   const DiskCacheOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(auto files, OpenFolder(folder));
  return std::make_shared<DiskCache>(std::move(files), options,
                                     [folder] { return OpenFolder(folder); });
}

DiskCache::DiskCache(std::shared_ptr<FileSystem> folder, const DiskCacheOptions& options,
                     Reopen reopen)
    : options_(options),
      max_entry_bytes_(std::min(options.max_bytes / 8, kLargestEntry)),
      reopen_(std::move(reopen)),
      files_(std::make_shared<CacheFiles>(std::move(folder), TimeNow)),
      thread_(StartWithoutSignals([this] { Run(); })) {}

DiskCache::~DiskCache() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::shared_ptr<CacheFiles> DiskCache::files() const {
  const std::lock_guard lock(mutex_);
  return files_;
}

void DiskCache::Count(std::uint64_t DiskCacheCounters::*counter) {
  const std::lock_guard lock(mutex_);
  ++(counters_.*counter);
}

std::optional<CacheEntry> DiskCache::Find(const CacheDigest& digest) {
  auto entry = Peek(digest);
  Count(entry ? &DiskCacheCounters::hits : &DiskCacheCounters::misses);
  return entry;
}

std::optional<CacheEntry> DiskCache::Peek(const CacheDigest& digest) {
  CacheFiles::Found found;
  const Status read = CatchExceptions([&]() -> Status {
    found = files()->Read(digest);
    return {};
  });
  if (found.damaged) Count(&DiskCacheCounters::damaged);
  if (!read) return std::nullopt;
  return std::move(found.entry);
}

bool DiskCache::Has(const CacheDigest& digest) { return files()->Has(digest); }

void DiskCache::Put(const CacheDigest& digest, CacheEntry entry) {
  if (entry.bytes.size() > max_entry_bytes_) return;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= kMostQueued ||
        queued_bytes_ + entry.bytes.size() > options_.max_queued_bytes) {
      ++counters_.dropped;
      return;
    }
    queued_bytes_ += entry.bytes.size();
    queue_.push_back({digest, std::move(entry)});
  }
  changed_.notify_all();
}

void DiskCache::Erase(const CacheDigest& digest) {
  {
    const std::lock_guard lock(mutex_);
    // An entry that stays costs only a request that fails.
    if (queue_.size() >= 2 * kMostQueued) return;
    queue_.push_back({digest, std::nullopt});
  }
  changed_.notify_all();
}

void DiskCache::Flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
}

DiskCacheCounters DiskCache::counters() const {
  const std::lock_guard lock(mutex_);
  DiskCacheCounters now = counters_;
  now.waiting = queue_.size() + (busy_ ? 1 : 0);
  return now;
}

void DiskCache::Run() {
  Shrink();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Change change = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    const Status applied = CatchExceptions([&]() -> Status {
      Apply(change);
      return {};
    });
    if (!applied) Count(&DiskCacheCounters::dropped);
    lock.lock();
    busy_ = false;
    if (change.entry) queued_bytes_ -= change.entry->bytes.size();
    changed_.notify_all();
  }
}

// Whether the folder was removed, and is there again.
bool DiskCache::Reopened() {
  if (!reopen_) return false;
  auto folder = reopen_();
  if (!folder) return false;
  const std::lock_guard lock(mutex_);
  files_ = std::make_shared<CacheFiles>(*std::move(folder), TimeNow);
  return true;
}

void DiskCache::Apply(const Change& change) {
  if (!change.entry) return files()->Remove(change.digest);
  if (std::chrono::steady_clock::now() < not_before_) return Count(&DiskCacheCounters::dropped);
  auto written = files()->Write(change.digest, *change.entry);
  if (!written && written.error().system_errno == ENOENT && Reopened()) {
    written = files()->Write(change.digest, *change.entry);
  }
  if (!written) {
    not_before_ = std::chrono::steady_clock::now() + kAfterFailure;
    LogWarning("the disk cache stores nothing for a while: " + written.error().message);
    return Count(&DiskCacheCounters::dropped);
  }
  {
    const std::lock_guard lock(mutex_);
    ++counters_.written;
    counters_.bytes += *written;
  }
  until_shrink_ -= std::min(until_shrink_, *written);
  if (until_shrink_ == 0) Shrink();
}

void DiskCache::Shrink() {
  CacheFiles::Contents contents;
  const Status shrunk = CatchExceptions([&]() -> Status {
    contents = files()->Shrink(options_.max_bytes / 16 * 15, options_.max_bytes / 8 * 7);
    return {};
  });
  if (!shrunk) LogWarning("measuring the size of the disk cache: " + shrunk.error().message);
  until_shrink_ = std::max((options_.max_bytes - std::min(contents.bytes, options_.max_bytes)) / 8,
                           options_.max_bytes / 128);
  const std::lock_guard lock(mutex_);
  counters_.bytes = contents.bytes;
  counters_.evictions += contents.removed;
}

}  // namespace unshard
