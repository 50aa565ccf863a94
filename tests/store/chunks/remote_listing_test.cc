// Listings of scales in a store that does not keep replaced versions: what they cost.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "store/chunks/precomputed_tree.h"
#include "store/object/key.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

constexpr std::uint64_t kListedShards = 8, kMinishards = 4, kListedChunks = 256;

// Counts how many opens are under way at the same time, each of which waits for a second one.
class Together {
 public:
  void Arrive() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    met_.notify_all();
    met_.wait_for(lock, std::chrono::seconds(10), [&] { return arrived_ > 1; });
  }
  [[nodiscard]] std::uint64_t arrived() const { return arrived_; }

 private:
  std::mutex mutex_;
  std::condition_variable met_;
  std::uint64_t arrived_ = 0;
};

class RemoteListing : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ShardingSpec spec;
    spec.preshift_bits = 3;
    spec.minishard_bits = 2;
    spec.shard_bits = 3;
    source_ = PrecomputedSource({8 * 4, 8 * 4, 4 * 4}, {4, 4, 4}, spec);
    memory_ = std::make_shared<MemoryStore>(
        Capabilities{.lists = GetParam(), .keeps_replaced_versions = false});
    counting_ = std::make_shared<CountingStore>(memory_);
    std::map<std::uint64_t, std::string> chunks;
    for (std::uint64_t i = 0; i < kListedChunks; ++i) chunks[i] = "chunk " + std::to_string(i);
    for (const auto& [key, bytes] : source_.Encode(chunks)) {
      memory_->Put(JoinPath(source_.directory, key), bytes);
    }
    ShardSetOptions options;
    options.ttl_milliseconds = 600'000;
    auto shards =
        std::make_shared<ShardSet>(counting_, source_.directory, source_.format, source_.keys,
                                   nullptr, std::make_shared<IndexCache>(1 << 20), options);
    tree_ = MakePrecomputedTree(1, std::move(shards), nullptr, *source_.precomputed,
                                source_.locator, counting_);
  }
  // The number of names, at most so many.
  std::uint64_t List(std::uint64_t most) {
    std::uint64_t names = 0;
    const Status listed = tree_->List(
        {}, 0, ListMode::kPresent, [&](const ChunkTree::Listed&) { return ++names < most; },
        [](const Error& error) { ADD_FAILURE() << error.message; }, {});
    EXPECT_TRUE(listed);
    return names;
  }

  ShardedSource source_;
  std::shared_ptr<MemoryStore> memory_;
  std::shared_ptr<CountingStore> counting_;
  std::unique_ptr<ShardedTree> tree_;
};

TEST_P(RemoteListing, CostsEachIndexPageOnceAndThoseOfSeveralShardsAtATime) {
  Together together;
  counting_->OnOpen([&](std::string_view) { together.Arrive(); });
  EXPECT_EQ(List(2 * kListedChunks), kListedChunks);
  EXPECT_EQ(together.arrived(), kListedShards);
  EXPECT_EQ(counting_->total().opens, kListedShards);
  EXPECT_LE(counting_->total().reads, kListedShards * kMinishards);
  EXPECT_EQ(counting_->total().lists, GetParam() ? 1u : 0u);
  counting_->Reset();
  EXPECT_EQ(List(2 * kListedChunks), kListedChunks);
  EXPECT_EQ(counting_->total().opens + counting_->total().reads, 0u) << "all is cached";
}

INSTANTIATE_TEST_SUITE_P(Stores, RemoteListing, testing::Bool(), [](const auto& each) {
  return each.param ? "ThatList" : "ThatCannotList";
});

}  // namespace
}  // namespace unshard
