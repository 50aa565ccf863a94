// Listings of a scale in a local store: the kernel reads several index pages at a time, and where
// the disk is slow several shards are opened at a time.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "tests/support/listed_scale.h"

namespace unshard {
namespace {

using std::chrono::microseconds;

class DiskListing : public testing::Test {
 protected:
  std::atomic<microseconds> now_{std::chrono::hours(1)};
  ListedScale scale_{Capabilities{}, ShardSetOptions{.clock = [this] {
                       return std::chrono::steady_clock::time_point(now_.load());
                     }}};
};

TEST_F(DiskListing, OpensOneShardAfterTheOtherWhereTheyAreInThePageCache) {
  std::set<std::thread::id> threads;
  scale_.counting().OnOpen([&](std::string_view) { threads.insert(std::this_thread::get_id()); });
  EXPECT_EQ(scale_.List(), ListedScale::kChunks);
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
  EXPECT_EQ(scale_.counting().total().opens, ListedScale::kShards);
}

TEST_F(DiskListing, BeginsToReadThePagesOfTheNextShardsBeforeItWaitsForTheFirst) {
  EXPECT_EQ(scale_.List(1), 1U);
  EXPECT_EQ(scale_.counting().total().prefetches, ListedScale::kShards * ListedScale::kMinishards);
  EXPECT_EQ(scale_.counting().total().reads, 1U);
  EXPECT_EQ(scale_.List(), ListedScale::kChunks);
  scale_.counting().Reset();
  EXPECT_EQ(scale_.List(), ListedScale::kChunks);
  EXPECT_EQ(scale_.counting().total().prefetches, 0U) << "all is cached";
}

TEST_F(DiskListing, OpensTheNextShardsAtATimeAfterOneThatWasSlow) {
  std::mutex mutex;
  std::condition_variable met;
  std::uint64_t opens = 0;
  bool alone = false;
  scale_.counting().OnOpen([&](std::string_view) {
    std::unique_lock lock(mutex);
    ++opens;
    met.notify_all();
    if (opens == 1) now_ = now_.load() + microseconds(300);
    // The second open ends when there is a third.
    if (opens == 2)
      alone = !met.wait_for(lock, std::chrono::seconds(10), [&] { return opens > 2; });
  });
  EXPECT_EQ(scale_.List(), ListedScale::kChunks);
  EXPECT_FALSE(alone);
  EXPECT_EQ(scale_.counting().total().opens, ListedScale::kShards);
  scale_.counting().Reset();
  EXPECT_EQ(scale_.List(), ListedScale::kChunks);
  EXPECT_EQ(scale_.counting().total().opens + scale_.counting().total().reads, 0U)
      << "all is cached";
}

}  // namespace
}  // namespace unshard
