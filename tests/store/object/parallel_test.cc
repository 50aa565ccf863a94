// The same work for several things at a time.
#include "store/object/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <new>
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
