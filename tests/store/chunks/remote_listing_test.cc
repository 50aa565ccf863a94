// Listings of scales in a store that does not keep replaced versions: what they cost.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <ostream>

#include "store/chunks/zarr_tree.h"
#include "store/object/key.h"
#include "tests/support/counting_store.h"
#include "tests/support/listed_scale.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

// Sees whether the first of several opens has to end before the second one begins.
class Together {
 public:
  void Arrive() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    met_.notify_all();
    if (!met_.wait_for(lock, std::chrono::seconds(10), [&] { return arrived_ > 1; })) alone_ = true;
  }
  [[nodiscard]] bool alone() const { return alone_; }

 private:
  std::mutex mutex_;
  std::condition_variable met_;
  std::uint64_t arrived_ = 0;
  bool alone_ = false;
};

class RemoteListing : public testing::TestWithParam<bool> {
 protected:
  ListedScale scale_{{.lists = GetParam(), .keeps_replaced_versions = false},
                     {.ttl_milliseconds = 600'000}};
};

TEST_P(RemoteListing, CostsEachIndexPageOnceAndThoseOfSeveralShardsAtATime) {
  Together together;
  scale_.counting().OnOpen([&](std::string_view) { together.Arrive(); });
  EXPECT_EQ(scale_.List(), ListedScale::kChunks);
  EXPECT_FALSE(together.alone());
  EXPECT_EQ(scale_.counting().total().opens, ListedScale::kShards);
  EXPECT_LE(scale_.counting().total().reads, ListedScale::kShards * ListedScale::kMinishards);
  EXPECT_EQ(scale_.counting().total().lists, GetParam() ? 1u : 0u);
  scale_.counting().Reset();
  EXPECT_EQ(scale_.List(), ListedScale::kChunks);
  EXPECT_EQ(scale_.counting().total().opens + scale_.counting().total().reads, 0u)
      << "all is cached";
}

// 6 × 8 shards of 3 × 4 chunks, of which the last row is absent, and the last one of the row
// before: "c/<row>/<column>".
class NestedRemoteListing : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::uint64_t kRows = 6, kColumns = 8;
  static constexpr GridDirectory kPrefix{1, 0};

  void SetUp() override {
    source_ = ZarrSource({kRows * 3, kColumns * 4}, {1, 1}, {3, 4});
    const auto memory = std::make_shared<MemoryStore>(
        Capabilities{.lists = GetParam(), .keeps_replaced_versions = false});
    counting_ = std::make_shared<CountingStore>(memory);
    std::map<std::uint64_t, std::string> chunks;
    for (std::uint64_t i = 0; i < source_.cell_count(); ++i) {
      if (source_.SlotOf(i).shard < (kRows - 1) * kColumns - 1) chunks[i] = "x";
    }
    for (const auto& [key, bytes] : source_.Encode(chunks)) memory->Put(key, bytes);
    ShardSetOptions options;
    options.ttl_milliseconds = 10'000;
    options.clock = [this] { return now_; };
    auto shards = std::make_shared<ShardSet>(counting_, "", source_.format, source_.keys, nullptr,
                                             std::make_shared<IndexCache>(1 << 20), options);
    tree_ = MakeZarrTree(1, std::move(shards), nullptr, *source_.zarr, counting_);
  }
  // The number of names.
  std::uint64_t List(const GridDirectory& in) {
    std::uint64_t names = 0;
    const Status listed = tree_->List(
        in, 0, ListMode::kPresent, [&](const ChunkTree::Listed&) { return ++names != 0; },
        [](const Error& error, auto) { ADD_FAILURE() << error.message; }, {});
    EXPECT_TRUE(listed);
    return names;
  }
  struct Cost {
    std::uint64_t lists = 0, opens = 0, reads = 0;
    bool alone = false;
    friend bool operator==(const Cost&, const Cost&) = default;
    friend void PrintTo(const Cost& cost, std::ostream* out) {
      *out << cost.lists << " lists, " << cost.opens << " opens, " << cost.reads << " reads"
           << (cost.alone ? ", the first one alone" : "");
    }
  };
  Cost CostOf(const GridDirectory& in, std::uint64_t names) {
    Together together;
    counting_->Reset();
    counting_->OnOpen([&](std::string_view) { together.Arrive(); });
    EXPECT_EQ(List(in), names);
    counting_->OnOpen([](std::string_view) {});
    const AccessCounts spent = counting_->total();
    return {spent.lists, spent.opens, spent.reads, together.alone()};
  }
  static GridDirectory Row(std::uint64_t row) { return {2, row}; }

  ShardedSource source_;
  std::shared_ptr<CountingStore> counting_;
  std::chrono::steady_clock::time_point now_{std::chrono::hours(1)};
  std::unique_ptr<ShardedTree> tree_;
};

TEST_P(NestedRemoteListing, CostsEachRequestOnceAndThoseOfSeveralShardsAtATime) {
  const bool lists = GetParam();
  const Cost none;
  // Where the store cannot list, this first listing asks for all shards.
  EXPECT_EQ(CostOf(kPrefix, (kRows - 1) * 3),
            lists ? (Cost{1 + 5, 5}) : (Cost{0, kRows * kColumns}));
  EXPECT_EQ(CostOf(Row(0), kColumns * 4), lists ? (Cost{0, kColumns - 1}) : none);
  EXPECT_EQ(CostOf(Row(1), kColumns * 4), none);
  EXPECT_EQ(CostOf(Row((kRows - 2) * 3), (kColumns - 1) * 4),
            lists ? (Cost{0, kColumns - 2}) : none);
  EXPECT_EQ(CostOf(kPrefix, (kRows - 1) * 3), none) << "within the ttl";
  now_ += std::chrono::seconds(11);
  if (!lists) return;
  EXPECT_EQ(CostOf(Row(0), kColumns * 4), (Cost{1, kColumns}));
  EXPECT_EQ(CostOf(Row(2), kColumns * 4), none);
}

INSTANTIATE_TEST_SUITE_P(Stores, NestedRemoteListing, testing::Bool(), [](const auto& each) {
  return each.param ? "ThatList" : "ThatCannotList";
});

INSTANTIATE_TEST_SUITE_P(Stores, RemoteListing, testing::Bool(), [](const auto& each) {
  return each.param ? "ThatList" : "ThatCannotList";
});

}  // namespace
}  // namespace unshard
