#include "store/copy/try_each.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "store/object/catch_exceptions.h"
#include "store/object/parallel.h"

namespace unshard {

Status TryEachInParallel(std::size_t count, std::size_t most_threads,
                         const std::function<Status(std::size_t)>& work) {
  std::atomic<bool> failed{false};
  std::mutex mutex;
  Status first;
  ForEachInParallel(count, most_threads, [&](std::size_t i) {
    if (failed.load(std::memory_order_relaxed)) return;
    Status done = CatchExceptions([&] { return work(i); });
    if (done) return;
    const std::lock_guard lock(mutex);
    if (!failed.exchange(true)) first = std::move(done);
  });
  return first;
}

}  // namespace unshard
