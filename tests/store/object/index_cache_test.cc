#include "store/object/index_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace unshard {
namespace {

ByteBudgetCache::Loader Value(int value, std::uint64_t bytes) {
  return [=]() -> Result<ByteBudgetCache::Loaded> {
    return ByteBudgetCache::Loaded{std::make_shared<const int>(value), bytes};
  };
}

int IntOf(const ByteBudgetCache::Value& value) {
  return *std::static_pointer_cast<const int>(value);
}

CacheKey Key(std::uint64_t page) { return {1, 2, 3, page}; }

TEST(IndexCacheTest, LoadsAKeyOnce) {
  ByteBudgetCache cache(10000);
  EXPECT_EQ(IntOf(*cache.Get(Key(1), Deadline::None(), Value(7, 100))), 7);
  EXPECT_EQ(IntOf(*cache.Get(Key(1), Deadline::None(), Value(8, 100))), 7);
  EXPECT_EQ(cache.counters().hits, 1u);
  EXPECT_EQ(cache.counters().misses, 1u);
}

TEST(IndexCacheTest, EvictsTheLeastRecentlyUsedWithinItsBudget) {
  ByteBudgetCache cache(4000);
  for (std::uint64_t page = 0; page < 3; ++page)
    ASSERT_TRUE(cache.Get(Key(page), Deadline::None(), Value(0, 1000)));
  ASSERT_TRUE(cache.Peek(Key(0)));
  ASSERT_TRUE(cache.Get(Key(3), Deadline::None(), Value(0, 1000)));
  EXPECT_TRUE(cache.Peek(Key(0)));
  EXPECT_FALSE(cache.Peek(Key(1)));
  EXPECT_TRUE(cache.Peek(Key(3)));
  EXPECT_LE(cache.counters().bytes, 4000u);
  EXPECT_EQ(cache.counters().evictions, 1u);
}

TEST(IndexCacheTest, ManyTinyValuesStayWithinTheBudget) {
  ByteBudgetCache cache(16000);
  for (std::uint64_t page = 0; page < 10000; ++page)
    ASSERT_TRUE(cache.Get(Key(page), Deadline::None(), Value(0, 1)));
  EXPECT_LE(cache.counters().entries, 100u);
}

TEST(IndexCacheTest, ManyPagesAreErasedTogether) {
  ByteBudgetCache cache(100000);
  const auto put = [&] {
    for (std::uint64_t page = 0; page < 6; ++page) cache.Put(Key(page), *Value(1, 10)());
    cache.Put({1, 2, 4, 3}, *Value(1, 10)());
    cache.Put({1, 2, 3, ~std::uint64_t{0}}, {std::make_shared<const int>(1), 10, true});
  };
  put();
  cache.EraseAll(Key(1), 3);
  EXPECT_TRUE(cache.Peek(Key(0)) && cache.Peek(Key(4)) && cache.Peek({1, 2, 4, 3}));
  EXPECT_FALSE(cache.Peek(Key(1)) || cache.Peek(Key(2)) || cache.Peek(Key(3)));
  put();
  cache.EraseAll(Key(4), 1000);
  EXPECT_TRUE(cache.Peek(Key(3)) && cache.Peek({1, 2, 3, ~std::uint64_t{0}}));
  EXPECT_FALSE(cache.Peek(Key(4)) || cache.Peek(Key(5)));
  cache.EraseAll(Key(0), 0);
  EXPECT_EQ(cache.counters().entries, 1u);
  EXPECT_TRUE(cache.Peek({1, 2, 4, 3}));
}

TEST(IndexCacheTest, AValueAboveTheBudgetIsGivenButNotKept) {
  ByteBudgetCache cache(1000);
  EXPECT_EQ(IntOf(*cache.Get(Key(1), Deadline::None(), Value(7, ~std::uint64_t{0}))), 7);
  EXPECT_FALSE(cache.Peek(Key(1)));
  EXPECT_EQ(cache.counters().bytes, 0u);
}

TEST(IndexCacheTest, BriefValuesLeaveFirstButForAQuarterOfTheBudget) {
  ByteBudgetCache cache(10000);
  const auto put = [&](std::uint64_t page, std::uint64_t bytes, bool brief) {
    cache.Put(Key(page), {std::make_shared<const int>(0), bytes - cache.kEntryOverhead, brief});
  };
  const auto has = [&](std::uint64_t page) { return cache.Peek(Key(page)) != nullptr; };
  for (std::uint64_t page = 0; page < 6; ++page) put(page, 1000, false);
  // They take what is free.
  for (std::uint64_t page = 10; page < 14; ++page) put(page, 1000, true);
  EXPECT_TRUE(has(0) && has(13) && has(10));
  // The least recently used of them makes room, and no older value of the others.
  put(6, 1000, false);
  EXPECT_FALSE(has(11));
  put(14, 1000, true);
  EXPECT_FALSE(has(12));
  EXPECT_TRUE(has(0) && has(6) && has(10) && has(13) && has(14));
  put(7, 1000, false);
  EXPECT_FALSE(has(10));
  // Two of them are left, below a quarter.
  put(8, 1000, false);
  EXPECT_FALSE(has(1));
  EXPECT_TRUE(has(0) && has(13) && has(14));
  // A brief value larger than a quarter of the budget stays until another value needs its room.
  put(20, 6000, true);
  EXPECT_TRUE(has(20) && has(8));
  EXPECT_FALSE(has(13) || has(14));
  put(21, 6000, true);
  EXPECT_TRUE(has(21) && has(8));
  EXPECT_FALSE(has(20));
  put(22, 6000, false);
  EXPECT_TRUE(has(22) && has(8));
  EXPECT_FALSE(has(21));
  EXPECT_LE(cache.counters().bytes, 10000u);
}

TEST(IndexCacheTest, AFailureIsNotKept) {
  ByteBudgetCache cache(1000);
  const auto failed = cache.Get(Key(1), Deadline::None(), []() -> Result<ByteBudgetCache::Loaded> {
    return Fail(ErrorCode::kDataLoss, "damaged");
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "damaged");
  EXPECT_EQ(IntOf(*cache.Get(Key(1), Deadline::None(), Value(7, 1))), 7);
}

TEST(IndexCacheTest, AnExceptionIsAFailureAndTheKeyCanBeLoadedAgain) {
  ByteBudgetCache cache(10000);
  const auto failed = cache.Get(Key(1), Deadline::None(), []() -> Result<ByteBudgetCache::Loaded> {
    throw std::length_error("a vector too long");
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInternal);
  EXPECT_EQ(IntOf(*cache.Get(Key(1), Deadline::None(), Value(7, 100))), 7)
      << "nobody waits for the first load";
}

TEST(IndexCacheTest, ConcurrentMissesShareOneLoad) {
  ByteBudgetCache cache(10000);
  std::atomic<int> loads{0};
  std::promise<void> go;
  const auto gate = go.get_future().share();
  const auto load = [&]() -> Result<ByteBudgetCache::Loaded> {
    gate.wait();
    return ByteBudgetCache::Loaded{std::make_shared<const int>(++loads), 1};
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(IntOf(*cache.Get(Key(1), Deadline::None(), load)), 1); });
  }
  while (cache.counters().misses < 4) std::this_thread::yield();
  go.set_value();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loads, 1);
}

TEST(IndexCacheTest, AWaitForAnotherLoadEndsWithItsOwnDeadlineAndTheLoadGoesOn) {
  ByteBudgetCache cache(10000);
  std::promise<void> go;
  std::promise<void> started;
  std::thread loader([&] {
    const auto load = [&]() -> Result<ByteBudgetCache::Loaded> {
      started.set_value();
      go.get_future().wait();
      return ByteBudgetCache::Loaded{std::make_shared<const int>(7), 1};
    };
    EXPECT_EQ(IntOf(*cache.Get(Key(1), Deadline::None(), load)), 7);
  });
  started.get_future().wait();
  Deadline deadline{std::chrono::steady_clock::now(), {}};
  const auto late = cache.Get(Key(1), deadline, Value(8, 1));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().system_errno, ETIMEDOUT);
  std::stop_source signal;
  signal.request_stop();
  deadline = {std::chrono::steady_clock::time_point::max(), signal.get_token()};
  const auto interrupted = cache.Get(Key(1), deadline, Value(8, 1));
  ASSERT_FALSE(interrupted);
  EXPECT_EQ(interrupted.error().system_errno, EINTR);
  go.set_value();
  loader.join();
  EXPECT_EQ(IntOf(*cache.Get(Key(1), Deadline::None(), Value(8, 1))), 7);
}

TEST(IndexCacheTest, ALoadThatGivesUpAtItsOwnDeadlineIsRunByAnotherWhoWaits) {
  ByteBudgetCache cache(10000);
  std::stop_source signal;
  std::thread loader([&] {
    const auto load = [&]() -> Result<ByteBudgetCache::Loaded> {
      while (cache.counters().misses < 2) std::this_thread::yield();
      signal.request_stop();
      return Fail(ErrorCode::kUnavailable, "given up");
    };
    EXPECT_FALSE(cache.Get(
        Key(1), {std::chrono::steady_clock::time_point::max(), signal.get_token()}, load));
  });
  while (cache.counters().misses < 1) std::this_thread::yield();
  EXPECT_EQ(IntOf(*cache.Get(Key(1), Deadline::None(), Value(8, 1))), 8);
  loader.join();
}

TEST(IndexCacheTest, LoadsThatNeedMemoryWaitForRoom) {
  ByteBudgetCache cache(10000, 100);
  std::atomic<int> needed{0}, most{0};
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t page = 0; page < 8; ++page) {
      threads.emplace_back([&, page] {
        const auto load = [&]() -> Result<ByteBudgetCache::Loaded> {
          const int now = needed += 40;
          int seen = most;
          while (now > seen && !most.compare_exchange_weak(seen, now)) {
          }
          std::this_thread::yield();
          // A load that needs no memory is not held up.
          EXPECT_TRUE(cache.Get(Key(page + 100), Deadline::None(), Value(1, 1)));
          needed -= 40;
          return Value(static_cast<int>(page), 1)();
        };
        EXPECT_EQ(IntOf(*cache.Get(Key(page), Deadline::None(), load, 40)), page);
      });
    }
  }
  EXPECT_LE(most, 80);
  // What failed has left.
  const auto fail = [] { return Result<ByteBudgetCache::Loaded>(Fail(ErrorCode::kInternal, "")); };
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(cache.Get(Key(50), Deadline::None(), fail, 90));
}

TEST(IndexCacheTest, APutValueTakesTheKeysPlaceAndCountsNothing) {
  ByteBudgetCache cache(1000);
  cache.Put(Key(1), {std::make_shared<const int>(7), 100});
  EXPECT_EQ(cache.counters().misses, 0u);
  EXPECT_EQ(IntOf(*cache.Get(Key(1), Deadline::None(), Value(8, 1))), 7);
  cache.Put(Key(1), {std::make_shared<const int>(9), 100});
  EXPECT_EQ(IntOf(cache.Peek(Key(1))), 9);
  EXPECT_EQ(cache.counters().entries, 1u);
}

TEST(IndexCacheTest, AKeyErasedDuringItsLoadIsNotKept) {
  ByteBudgetCache cache(10000);
  const auto value = cache.Get(Key(1), Deadline::None(), [&]() -> Result<ByteBudgetCache::Loaded> {
    cache.Erase(Key(1));
    return ByteBudgetCache::Loaded{std::make_shared<const int>(7), 1};
  });
  EXPECT_EQ(IntOf(*value), 7);
  EXPECT_FALSE(cache.Peek(Key(1)));
}

}  // namespace
}  // namespace unshard
