// Listings of a scale in a local store: where the disk is slow they wait for several shards at a
// time.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "store/chunks/precomputed_tree.h"
#include "store/object/key.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

using std::chrono::microseconds;

class DiskListing : public testing::Test {
 protected:
  static constexpr std::uint64_t kShards = 8, kChunks = 256;

  void SetUp() override {
    ShardingSpec spec;
    spec.preshift_bits = 3;
    spec.minishard_bits = 2;
    spec.shard_bits = 3;
    const auto source = PrecomputedSource({8 * 4, 8 * 4, 4 * 4}, {4, 4, 4}, spec);
    const auto memory = std::make_shared<MemoryStore>(Capabilities{});
    counting_ = std::make_shared<CountingStore>(memory);
    std::map<std::uint64_t, std::string> chunks;
    for (std::uint64_t i = 0; i < kChunks; ++i) chunks[i] = "chunk " + std::to_string(i);
    for (const auto& [key, bytes] : source.Encode(chunks)) {
      memory->Put(JoinPath(source.directory, key), bytes);
    }
    ShardSetOptions options;
    options.clock = [this] { return std::chrono::steady_clock::time_point(now_.load()); };
    auto shards =
        std::make_shared<ShardSet>(counting_, source.directory, source.format, source.keys, nullptr,
                                   std::make_shared<IndexCache>(1 << 20), options);
    tree_ = MakePrecomputedTree(1, std::move(shards), nullptr, *source.precomputed, source.locator,
                                counting_);
  }
  std::uint64_t List() {
    std::uint64_t names = 0;
    const Status listed = tree_->List(
        {}, 0, ListMode::kPresent, [&](const ChunkTree::Listed&) { return ++names > 0; },
        [](const Error& error) { ADD_FAILURE() << error.message; }, {});
    EXPECT_TRUE(listed);
    return names;
  }

  std::shared_ptr<CountingStore> counting_;
  std::unique_ptr<ShardedTree> tree_;
  std::atomic<microseconds> now_{std::chrono::hours(1)};
};

TEST_F(DiskListing, OpensOneShardAfterTheOtherWhereTheyAreInThePageCache) {
  std::set<std::thread::id> threads;
  counting_->OnOpen([&](std::string_view) { threads.insert(std::this_thread::get_id()); });
  EXPECT_EQ(List(), kChunks);
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
  EXPECT_EQ(counting_->total().opens, kShards);
}

TEST_F(DiskListing, OpensTheNextShardsAtATimeAfterOneThatWasSlow) {
  std::mutex mutex;
  std::condition_variable met;
  std::uint64_t opens = 0;
  bool alone = false;
  counting_->OnOpen([&](std::string_view) {
    std::unique_lock lock(mutex);
    ++opens;
    met.notify_all();
    if (opens == 1) now_ = now_.load() + microseconds(300);
    // The second open ends when there is a third.
    if (opens == 2)
      alone = !met.wait_for(lock, std::chrono::seconds(10), [&] { return opens > 2; });
  });
  EXPECT_EQ(List(), kChunks);
  EXPECT_FALSE(alone);
  EXPECT_EQ(counting_->total().opens, kShards);
  counting_->Reset();
  EXPECT_EQ(List(), kChunks);
  EXPECT_EQ(counting_->total().opens + counting_->total().reads, 0U) << "all is cached";
}

}  // namespace
}  // namespace unshard
