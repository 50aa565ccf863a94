#include "store/chunks/shard_lister.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"

namespace unshard {
namespace {

std::optional<std::uint64_t> Number(std::string_view name) {
  if (name.empty() || name.find_first_not_of("0123456789") != std::string_view::npos) return {};
  return std::stoull(std::string(name));
}

class ShardListerTest : public testing::Test {
 protected:
  std::vector<std::uint64_t> List(const std::string& directory, bool begins) {
    now_ += std::chrono::seconds(1);
    return ListSince(directory, begins ? now_ : ShardLister::kAnyAge);
  }
  std::vector<std::uint64_t> ListSince(const std::string& directory, ShardLister::Time since) {
    const auto listing = lister_.List(directory, Number, since);
    EXPECT_TRUE(listing);
    return listing ? *listing->numbers : std::vector<std::uint64_t>();
  }
  std::shared_ptr<MemoryStore> memory_ = std::make_shared<MemoryStore>();
  std::shared_ptr<CountingStore> store_ = std::make_shared<CountingStore>(memory_);
  std::set<std::string> watched_;
  ShardLister::Time now_{};
  ShardLister lister_{store_, [this](const std::string& key) { return watched_.contains(key); },
                      [this] { return now_; }};
};

TEST_F(ShardListerTest, NumbersAreSortedAndOtherNamesLeftOut) {
  for (const char* key : {"a/10", "a/9", "a/info", "a/010", "b/1"}) memory_->Put(key, "x");
  EXPECT_EQ(List("a", true), (std::vector<std::uint64_t>{9, 10})) << "each number once";
  EXPECT_EQ(List("missing", true), std::vector<std::uint64_t>());
}

TEST_F(ShardListerTest, TheStoreIsAskedOncePerListing) {
  memory_->Put("a/1", "x");
  List("a", true);
  memory_->Put("a/2", "x");
  EXPECT_EQ(List("a", false), std::vector<std::uint64_t>{1});
  EXPECT_EQ(store_->total().lists, 1u);
  EXPECT_EQ(List("a", true), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(store_->total().lists, 2u);
}

TEST_F(ShardListerTest, WhatWasReadSinceWillDo) {
  memory_->Put("a/1", "x");
  List("a", true);
  const auto read = now_;
  now_ += std::chrono::seconds(5);
  memory_->Put("a/2", "x");
  EXPECT_EQ(ListSince("a", read), std::vector<std::uint64_t>{1});
  EXPECT_EQ(ListSince("a", read + std::chrono::seconds(1)), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(store_->total().lists, 2u);
}

TEST_F(ShardListerTest, WhatIsForgottenIsReadAnew) {
  memory_->Put("a/1", "x");
  List("a", true);
  memory_->Put("a/2", "x");
  lister_.Forget();
  EXPECT_EQ(List("a", false), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(ShardListerTest, OnlyTheLastFewDirectoriesAreRemembered) {
  for (int i = 0; i < 129; ++i) memory_->Put("d" + std::to_string(i) + "/1", "x");
  for (int i = 0; i < 129; ++i) List("d" + std::to_string(i), true);
  store_->Reset();
  List("d128", false);
  EXPECT_EQ(store_->total().lists, 0u);
  List("d0", false);
  EXPECT_EQ(store_->total().lists, 1u);
}

TEST_F(ShardListerTest, WhereChangesAreToldAListingIsReadOnce) {
  memory_->Put("a/1", "x");
  List("a", true);  // not watched yet: what it saw may have changed since
  watched_.insert("a");
  memory_->Put("a/2", "x");
  EXPECT_EQ(List("a", true), (std::vector<std::uint64_t>{1, 2}));
  List("a", true);
  EXPECT_EQ(store_->total().lists, 2u);
  watched_.clear();  // and nobody tells any more
  memory_->Put("a/3", "x");
  EXPECT_EQ(List("a", true), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(ShardListerTest, ADirectoryIsLookedAtOnceWhereChangesAreTold) {
  memory_->Put("a/1", "x");
  const auto stats = [&] { return store_->total().stats; };
  EXPECT_TRUE(lister_.Modified("a")->has_value());
  EXPECT_TRUE(lister_.Modified("a")->has_value());
  EXPECT_EQ(stats(), 2u) << "nobody tells";
  watched_ = {"a", "missing"};
  EXPECT_TRUE(lister_.Modified("a")->has_value());
  const auto before = stats();
  EXPECT_TRUE(lister_.Modified("a")->has_value());
  EXPECT_EQ(stats(), before);
  lister_.Forget();
  EXPECT_TRUE(lister_.Modified("a")->has_value());
  EXPECT_GT(stats(), before);
}

TEST_F(ShardListerTest, WhatIsMissingIsNotRemembered) {
  watched_ = {"a", "a/1"};
  EXPECT_FALSE(lister_.Modified("a")->has_value());
  memory_->Put("a/1", "x");
  EXPECT_TRUE(lister_.Modified("a")->has_value());
  EXPECT_FALSE(lister_.Modified("a/1")->has_value()) << "a file";
}

TEST_F(ShardListerTest, WhatWasReadBeforeAChangeIsForgottenWithIt) {
  memory_->Put("a/1", "x");
  ShardLister lister(
      store_, [](const std::string&) { return true; }, [] { return ShardLister::Time(); });
  // The change comes while the directory is being read.
  const auto parse = [&](std::string_view name) {
    lister.Forget();
    return Number(name);
  };
  const ShardLister::Time now{};
  ASSERT_TRUE(lister.List("a", parse, now));
  memory_->Put("a/2", "x");
  EXPECT_EQ(*lister.List("a", Number, now)->numbers, (std::vector<std::uint64_t>{1, 2}));
}

}  // namespace
}  // namespace unshard
