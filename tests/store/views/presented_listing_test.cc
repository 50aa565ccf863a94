// Listings of views of a store that does not keep replaced versions: what they cost.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "store/chunks/presented_tree.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"
#include "tests/support/shown_datasets.h"

namespace unshard {
namespace {

// The most opens that are under way together: each waits for others for a moment.
class Together {
 public:
  void Arrive() {
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++present_);
    changed_.notify_all();
    const std::size_t expected = expected_;
    changed_.wait_for(lock, std::chrono::milliseconds(expected > 1 ? 2000 : 0),
                      [&] { return most_ >= expected; });
    --present_;
  }
  void Expect(std::size_t count) {
    const std::lock_guard lock(mutex_);
    expected_ = count;
    most_ = present_ = 0;
  }
  [[nodiscard]] std::size_t most() const { return most_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t expected_ = 0, present_ = 0, most_ = 0;
};

class PresentedListing : public testing::Test {
 protected:
  static constexpr std::uint64_t kRows = 80, kColumns = 4;

  // A chunk of one voxel a row and column, two rows a shard; those of the last rows are absent. An
  // N5 view has a directory a column, with a name a row.
  void SetUp() override {
    const auto memory = std::make_shared<MemoryStore>(
        Capabilities{.lists = true, .keeps_replaced_versions = false});
    const ShardedSource array = ZarrSource({kRows, kColumns}, {1, 1}, {2, 1});
    memory->Put("zarr.json", array.document);
    std::map<std::uint64_t, std::string> chunks;
    for (std::uint64_t i = 0; i < (kRows - 3) * kColumns; ++i) chunks[i] = "x";
    for (const auto& [key, bytes] : array.Encode(chunks)) memory->Put(key, bytes);
    counting_ = std::make_shared<CountingStore>(memory);
    DatasetTreeOptions options;
    options.view = &N5View();
    options.shards.ttl_milliseconds = 600'000;
    datasets_ = ShowDatasets(counting_, options);
    ASSERT_EQ(datasets_->trees().size(), 1u);
    tree_ = datasets_->trees().front();
    counting_->OnOpen([&](std::string_view) { together_.Arrive(); });
  }
  GridDirectory Column(const std::string& name) { return tree_->Resolve({}, name).directory; }
  // The number of names from a cookie on, at most so many.
  std::uint64_t List(const GridDirectory& in, std::uint64_t cookie, std::uint64_t most) {
    std::uint64_t names = 0;
    counting_->Reset();
    const Status listed = tree_->List(
        in, cookie, ListMode::kPresent, [&](const ChunkTree::Listed&) { return ++names < most; },
        [](const Error& error, auto) { ADD_FAILURE() << error.message; }, {});
    EXPECT_TRUE(listed);
    return names;
  }

  std::shared_ptr<CountingStore> counting_;
  Together together_;
  std::unique_ptr<DatasetTree> datasets_;
  std::shared_ptr<ChunkTree> tree_;
};

TEST_F(PresentedListing, CostsEachShardThatExistsOnceAndThirtyTwoAtATime) {
  together_.Expect(32);
  EXPECT_EQ(List(Column("1"), 0, kRows), kRows - 3);
  EXPECT_EQ(together_.most(), 32u);
  EXPECT_EQ(counting_->total().opens, kRows / 2 - 1);
  EXPECT_EQ(counting_->total().lists, 1u);
  EXPECT_EQ(counting_->total().requests(), kRows / 2);
  EXPECT_EQ(List(Column("1"), 0, kRows), kRows - 3);
  EXPECT_EQ(counting_->total().requests(), 0u) << "all is cached";
}

TEST_F(PresentedListing, AListingThatIsContinuedAsksForNothing) {
  together_.Expect(32);
  EXPECT_EQ(List(Column("2"), 0, 10), 10u);
  EXPECT_EQ(counting_->total().requests(), kRows / 2);
  EXPECT_EQ(List(Column("2"), 10, kRows), kRows - 3 - 10);
  EXPECT_EQ(counting_->total().requests(), 0u);
}

// The first shards show that there is no directory beside theirs.
TEST_F(PresentedListing, OfDirectoriesOnlyTheFirstChunksAreLookedFor) {
  together_.Expect(1);
  EXPECT_EQ(List({}, 0, kRows), kColumns);
  EXPECT_EQ(counting_->total().lists, 2u);
  EXPECT_EQ(counting_->total().opens, kColumns);
  EXPECT_EQ(counting_->total().requests(), kColumns + 2);
}

}  // namespace
}  // namespace unshard
