// The same work for several things at a time.
#include "store/object/parallel.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <latch>
#include <new>
#include <thread>
#include <vector>

namespace unshard {
namespace {

TEST(ForEachInParallelTest, CallsForEachNumberOnceAlsoWithOneThread) {
  for (const std::size_t threads : {1u, 2u, 200u}) {
    std::vector<std::atomic<int>> calls(100);
    ForEachInParallel(calls.size(), threads, [&](std::size_t i) { ++calls[i]; });
    for (const auto& number : calls) EXPECT_EQ(number, 1) << threads;
  }
}

// They are for the threads that wait for them.
TEST(ForEachInParallelTest, TheOtherThreadsGetNoSignals) {
  const std::thread::id caller = std::this_thread::get_id();
  std::latch both(2);
  std::atomic<int> blocked{0};
  ForEachInParallel(2, 2, [&](std::size_t) {
    both.arrive_and_wait();
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    if (std::this_thread::get_id() != caller && sigismember(&mask, SIGTERM) == 1) ++blocked;
  });
  EXPECT_EQ(blocked, 1);
}

// On another thread it would end the process.
TEST(ForEachInParallelTest, AnExceptionOfAnyThreadIsThrownOnThisOne) {
  std::latch both(2);
  std::atomic<int> calls{0};
  const auto throw_in_both = [&](std::size_t) {
    ++calls;
    both.arrive_and_wait();
    throw std::bad_alloc();
  };
  EXPECT_THROW(ForEachInParallel(1000, 2, throw_in_both), std::bad_alloc);
  EXPECT_EQ(calls, 2) << "no others begin";
}

}  // namespace
}  // namespace unshard
