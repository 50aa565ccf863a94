#include "store/object/prefetching_store.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "store/object/awaited_result.h"
#include "store/object/catch_exceptions.h"

namespace unshard {
namespace {

using Clock = std::chrono::steady_clock;

// One prefetched range. Belongs to its request, then to the cache.
class Window {
 public:
  Window(const ByteRange& range, const CacheKey& key)
      : range_(range), key_(key), unread_(range.size) {}

  [[nodiscard]] const ByteRange& range() const { return range_; }
  [[nodiscard]] const CacheKey& key() const { return key_; }
  [[nodiscard]] Clock::time_point asked() const { return asked_; }

  // Ends the request, once, and calls all that wait.
  void Land(Result<ReadResult> outcome) {
    std::vector<std::function<void()>> waiting;
    {
      const std::lock_guard lock(mutex_);
      outcome_ = std::move(outcome);
      waiting = std::move(waiting_);
    }
    for (const auto& call : waiting) {
      // Where a call throws, its end gives an error to its reader.
      static_cast<void>(CatchExceptions([&]() -> Status { return call(), Status(); }));
    }
  }
  // Calls `call` once the request has ended: now, or on the thread that ends it.
  void WhenLanded(std::function<void()> call) {
    {
      const std::lock_guard lock(mutex_);
      if (!outcome_) return waiting_.push_back(std::move(call));
    }
    call();
  }
  // Requires: the request has ended.
  [[nodiscard]] const Result<ReadResult>& outcome() const { return *outcome_; }

  // Counts bytes that were read. True where no others are left.
  bool Take(std::uint64_t size) {
    std::uint64_t before = unread_.load();
    while (!unread_.compare_exchange_weak(before, before - std::min(before, size))) {
    }
    return before <= size;
  }

 private:
  const ByteRange range_;
  const CacheKey key_;
  const Clock::time_point asked_ = Clock::now();
  std::atomic<std::uint64_t> unread_;
  std::mutex mutex_;
  std::optional<Result<ReadResult>> outcome_;   // guarded by mutex_ until it is set
  std::vector<std::function<void()>> waiting_;  // guarded by mutex_
};
using WindowPtr = std::shared_ptr<Window>;

// One read that is served from windows.
class ReadFromWindows : public std::enable_shared_from_this<ReadFromWindows> {
 public:
  // `windows` follow one another and cover `range`.
  ReadFromWindows(std::shared_ptr<ObjectVersion> below, std::shared_ptr<ByteBudgetCache> cache,
                  const ByteRange& range, std::vector<WindowPtr> windows, const Deadline& deadline,
                  ObjectVersion::ReadDone done)
      : below_(std::move(below)),
        cache_(std::move(cache)),
        range_(range),
        windows_(std::move(windows)),
        deadline_(deadline),
        done_(std::move(done)) {}

  void Start() {
    windows_[next_]->WhenLanded([self = shared_from_this()] { self->Continue(); });
  }

 private:
  // The next window has landed.
  void Continue() {
    const Window& window = *windows_[next_];
    const Result<ReadResult>& outcome = window.outcome();
    const bool failed = !outcome || (outcome->state == ReadResult::State::kFound &&
                                     outcome->value.size() != window.range().size);
    if (failed) {
      return below_->StartRead(RangeRequest::At(range_.begin, range_.size), deadline_, done_);
    }
    age_ = std::max<std::chrono::nanoseconds>(age_, begun_ - window.asked());
    if (outcome->state != ReadResult::State::kFound) return Finish(*outcome);
    // Copied: a slice would keep the whole window in memory.
    const std::uint64_t begin = range_.begin + bytes_.size();
    const std::uint64_t size = std::min(window.range().end(), range_.end()) - begin;
    const auto from = outcome->value.span().subspan(
        static_cast<std::size_t>(begin - window.range().begin), static_cast<std::size_t>(size));
    const Status copied = CatchExceptions([&]() -> Status {
      bytes_.insert(bytes_.end(), from.begin(), from.end());
      return {};
    });
    if (!copied) return done_(tl::unexpected<Error>(copied.error()));
    if (windows_[next_]->Take(size)) cache_->Erase(window.key());
    if (++next_ < windows_.size()) return Start();
    Finish(*outcome);
  }

  void Finish(const ReadResult& of) {
    done_(ReadResult{of.state, Bytes(std::move(bytes_)), of.object_size, of.generation, age_});
  }

  const std::shared_ptr<ObjectVersion> below_;
  const std::shared_ptr<ByteBudgetCache> cache_;
  const ByteRange range_;
  const std::vector<WindowPtr> windows_;
  const Deadline deadline_;
  const ObjectVersion::ReadDone done_;
  const Clock::time_point begun_ = Clock::now();
  // Used by one thread after another.
  std::size_t next_ = 0;
  ByteVector bytes_;
  std::chrono::nanoseconds age_{0};
};

class PrefetchingVersion final : public ObjectVersion {
 public:
  PrefetchingVersion(std::shared_ptr<ObjectVersion> below, std::shared_ptr<ByteBudgetCache> cache)
      : below_(std::move(below)), cache_(std::move(cache)) {}

  const ObjectInfo& info() const override { return below_->info(); }

  void StartRead(const RangeRequest& range, const Deadline& deadline, ReadDone done) override {
    const ByteRange wanted = ClipRange(range, info().size);
    std::vector<WindowPtr> windows = Covering(wanted);
    if (windows.empty()) return below_->StartRead(range, deadline, std::move(done));
    std::make_shared<ReadFromWindows>(below_, cache_, wanted, std::move(windows), deadline,
                                      std::move(done))
        ->Start();
  }

  std::optional<FileSlice> Slice(const ByteRange& range) override { return below_->Slice(range); }

  void Prefetch(const ByteRange& wanted) override {
    const ByteRange range = ClipRange(RangeRequest::At(wanted.begin, wanted.size), info().size);
    if (range.size == 0 || !Covering(range).empty()) return;
    WindowPtr window;
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(windows_, [](const Known& known) { return known.window.expired(); });
      window = std::make_shared<Window>(range, CacheKey{owner_, 0, ++last_, 0});
      windows_.push_back({range, window});
    }
    const Deadline deadline{Clock::now() + PrefetchingStore::kPatience, {}};
    const auto landed = [window, cache = cache_](Result<ReadResult> read) {
      // Before those that wait go on: the last of them erases it.
      if (read && read->state == ReadResult::State::kFound &&
          read->value.size() == window->range().size) {
        const Status kept = CatchExceptions([&]() -> Status {
          cache->Put(window->key(), {window, window->range().size});
          return {};
        });
        if (!kept) read = tl::unexpected<Error>(kept.error());
      }
      window->Land(std::move(read));
    };
    below_->StartRead(RangeRequest::At(range.begin, range.size), deadline,
                      AlwaysCalled<ReadResult>(landed));
  }

 private:
  struct Known {
    ByteRange range;
    std::weak_ptr<Window> window;
  };

  // The windows that hold a range together; none where a byte of it, or all of it, is in none.
  std::vector<WindowPtr> Covering(const ByteRange& range) {
    std::vector<WindowPtr> covering;
    const std::lock_guard lock(mutex_);
    for (std::uint64_t at = range.begin; at < range.end();) {
      WindowPtr next;
      for (const Known& known : windows_) {
        if (known.range.begin > at || at >= known.range.end()) continue;
        if ((next = known.window.lock())) break;
      }
      if (!next) return {};
      at = next->range().end();
      cache_->Peek(next->key());  // used: others are evicted before it
      covering.push_back(std::move(next));
    }
    return covering;
  }

  const std::shared_ptr<ObjectVersion> below_;
  const std::shared_ptr<ByteBudgetCache> cache_;
  const std::uint64_t owner_ = NewCacheOwner();
  std::mutex mutex_;
  std::vector<Known> windows_;  // guarded by mutex_
  std::uint64_t last_ = 0;      // guarded by mutex_
};

}  // namespace

PrefetchingStore::PrefetchingStore(std::shared_ptr<ObjectStore> below,
                                   std::shared_ptr<ByteBudgetCache> cache)
    : below_(std::move(below)), cache_(std::move(cache)) {}

Result<std::optional<ObjectInfo>> PrefetchingStore::Stat(std::string_view key,
                                                         const Deadline& deadline) {
  return below_->Stat(key, deadline);
}

Result<ObjectStore::Opened> PrefetchingStore::Open(std::string_view key, const RangeRequest& first,
                                                   const Deadline& deadline) {
  return Prefetching(below_->Open(key, first, deadline));
}

Result<ObjectStore::Opened> PrefetchingStore::OpenUnlessKnown(std::string_view key,
                                                              const RangeRequest& first,
                                                              const ObjectInfo& known,
                                                              const Deadline& deadline) {
  return Prefetching(below_->OpenUnlessKnown(key, first, known, deadline));
}

Result<ObjectStore::Opened> PrefetchingStore::Prefetching(Result<Opened> opened) const {
  if (opened && opened->version) {
    opened->version = std::make_shared<PrefetchingVersion>(std::move(opened->version), cache_);
  }
  return opened;
}

std::shared_ptr<ObjectVersion> PrefetchingStore::Recall(std::string_view key,
                                                        const ObjectInfo& info) {
  auto version = below_->Recall(key, info);
  if (!version) return nullptr;
  return std::make_shared<PrefetchingVersion>(std::move(version), cache_);
}

Status PrefetchingStore::List(std::string_view key, const Deadline& deadline,
                              const ListVisitor& visitor) {
  return below_->List(key, deadline, visitor);
}

Status PrefetchingStore::ListFrom(std::string_view key, std::uint64_t resume,
                                  const Deadline& deadline, const ListVisitor& visitor) {
  return below_->ListFrom(key, resume, deadline, visitor);
}

}  // namespace unshard
