#include "store/object/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "store/object/deadline.h"
#include "store/object/thread_without_signals.h"

namespace unshard {
namespace {

struct JoinedThreads {
  std::vector<std::thread> threads;
  ~JoinedThreads() {
    for (std::thread& thread : threads) thread.join();
  }
};

}  // namespace

void ForEachInParallel(std::size_t count, std::size_t most_threads,
                       const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr first;  // guarded by mutex
  const auto run = [&] {
    try {
      for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  const Deadline deadline = CallerDeadline();
  const auto run_for_caller = [&] {
    const auto stop = [&] { return deadline.stop; };
    const ServedCaller caller(deadline.at, stop, stop);
    run();
  };
  {
    JoinedThreads others;
    others.threads.reserve(std::min(count, most_threads));
    try {
      for (std::size_t i = 1; i < std::min(count, most_threads); ++i) {
        others.threads.push_back(StartWithoutSignals(run_for_caller));
      }
    } catch (const std::system_error&) {
      // The system allows no more threads: those that there are do the work.
    }
    run();
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace unshard
