// What is said of objects while their store does not answer.
#include "store/object/store_while_away.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "store/cache/caching_store.h"
#include "store/object/key_filter.h"
#include "tests/support/memory_store.h"
#include "tests/support/store_that_goes_away.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

constexpr RangeRequest kAll = {0, 100, false};

class StoreWhileAwayTest : public testing::Test {
 protected:
  StoreWhileAwayTest() {
    contact_->Listen({[this] { return is_away_.load(); }, [this](const Error&) { is_away_ = true; },
                      [this] { is_away_ = false; }});
  }
  // "?" where it cannot be said, "-" where it is missing.
  std::string Open(const std::string& key) {
    const auto opened = store_.Open(key, kAll, Deadline::None());
    if (!opened) return "?";
    if (!opened->version) return "-";
    return std::string(AsText(opened->first.span()));
  }
  std::string Size(const std::string& key) {
    const auto info = store_.Stat(key, Deadline::None());
    if (!info) return "?";
    return *info ? std::to_string((*info)->size) : "-";
  }

  const std::shared_ptr<MemoryStore> memory_ =
      std::make_shared<MemoryStore>(Capabilities{true, false, Capabilities::Writes::kConditional});
  const std::shared_ptr<StoreThatGoesAway> below_ = std::make_shared<StoreThatGoesAway>(memory_);
  std::atomic<bool> is_away_ = false;
  const std::shared_ptr<StoreContact> contact_ = std::make_shared<StoreContact>();
  StoreWhileAway store_{below_, contact_};
};

TEST_F(StoreWhileAwayTest, WhatWasSeenIsSaidAgainAndNothingElse) {
  memory_->Put("seen", "12345");
  memory_->Put("unseen", "1");
  EXPECT_EQ(Size("seen"), "5");
  EXPECT_EQ(Size("absent"), "-");
  below_->away = true;
  EXPECT_EQ(Size("seen"), "5");
  EXPECT_EQ(Size("unseen"), "?");
  EXPECT_EQ(Size("absent"), "?") << "another host may have put it since";
  EXPECT_TRUE(is_away_);
  below_->away = false;
  memory_->Put("seen", "123456");
  EXPECT_EQ(Size("seen"), "6") << "the store is asked first";
}

TEST_F(StoreWhileAwayTest, AVersionThatWasSeenIsOpenedAgainWithoutItsBytes) {
  memory_->Put("seen", "12345");
  EXPECT_EQ(Open("seen"), "12345");
  const auto before = store_.Open("seen", RangeRequest::At(0, 0), Deadline::None());
  ASSERT_TRUE(before && before->version);
  below_->away = true;
  const auto again = store_.Open("seen", RangeRequest::At(0, 0), Deadline::None());
  ASSERT_TRUE(again && again->version);
  EXPECT_EQ(again->version->info().generation, before->version->info().generation);
  EXPECT_EQ(Open("seen"), "?") << "nobody has the bytes";
  const auto read = before->version->Read(kAll, Deadline::None());
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("the store is unreachable"), std::string::npos);
}

TEST_F(StoreWhileAwayTest, ACacheOnTheDiskHasTheBytes) {
  TemporaryDirectory folder;
  const auto cache = DiskCache::Open(folder.path() + "/cache", {1 << 20, 1 << 20});
  ASSERT_TRUE(cache);
  StoreWhileAway store(std::make_shared<CachingStore>(below_, *cache), contact_);
  const std::string text(50, 'x');
  memory_->Put("kept", text);
  ASSERT_TRUE(store.Open("kept", kAll, Deadline::None()));
  (*cache)->Flush();
  below_->away = true;
  const auto opened = store.Open("kept", kAll, Deadline::None());
  ASSERT_TRUE(opened && opened->version);
  EXPECT_EQ(AsText(opened->first.span()), text);
}

TEST_F(StoreWhileAwayTest, WhatThisProcessHasReplacedIsNotSaidAgain) {
  TemporaryDirectory folder;
  const auto cache = DiskCache::Open(folder.path() + "/cache", {1 << 20, 1 << 20});
  ASSERT_TRUE(cache);
  StoreWhileAway store(std::make_shared<CachingStore>(below_, *cache), contact_);
  const RangeRequest none = RangeRequest::At(0, 0);
  const std::string text(50, 'x');
  for (const char* key : {"put", "removed", "unknown"}) {
    memory_->Put(key, text);
    ASSERT_TRUE(store.Open(key, kAll, Deadline::None()));
  }
  (*cache)->Flush();
  memory_->Put("put", "new");
  const auto put = *memory_->Stat("put", Deadline::None());
  store.Replaced("put", put);
  store.Replaced("removed", std::nullopt);
  EXPECT_EQ(store.OpenCached("put", kAll).version, nullptr);
  below_->away = true;
  const auto found = store.Stat("put", Deadline::None());
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->generation, put->generation);
  EXPECT_FALSE(store.Open("put", kAll, Deadline::None()));
  const auto opened = store.Open("put", none, Deadline::None());
  ASSERT_TRUE(opened && opened->version);
  EXPECT_EQ(opened->version->info().generation, put->generation);
  EXPECT_FALSE(store.Stat("removed", Deadline::None()));
  EXPECT_FALSE(store.Open("removed", kAll, Deadline::None()));
  EXPECT_TRUE(store.Open("unknown", kAll, Deadline::None())) << "no process has replaced it";
  below_->away = false;
  EXPECT_TRUE(store.Open("put", kAll, Deadline::None()));
  below_->away = true;
  EXPECT_TRUE(store.Open("put", none, Deadline::None()));
}

TEST_F(StoreWhileAwayTest, AnAnswerOfBeforeAReplacementIsNotSaidAgain) {
  for (const bool existed : {true, false}) {
    for (const bool opens : {true, false}) {
      below_->away = false;
      const std::string key = std::to_string(existed) + std::to_string(opens);
      if (existed) {
        memory_->Put(key, "old");
        EXPECT_EQ(Size(key), "3");
      }
      bool replaced = false;
      below_->before_answer = [&] {
        if (std::exchange(replaced, true)) return;
        memory_->Put(key, "newer");
        store_.Replaced(key, *memory_->Stat(key, Deadline::None()));
      };
      EXPECT_EQ(opens ? Open(key) : Size(key), existed ? opens ? "old" : "3" : "-");
      below_->away = true;
      EXPECT_EQ(Size(key), "5");
      below_->before_answer = [] {};
    }
  }
}

// An answer of before may reach the cache late.
TEST_F(StoreWhileAwayTest, WhatThisProcessHasReplacedIsNotSaidAgainHoweverMuchItHasReplacedSince) {
  TemporaryDirectory folder;
  const auto cache = DiskCache::Open(folder.path() + "/cache", {1 << 20, 1 << 20});
  ASSERT_TRUE(cache);
  const auto caching = std::make_shared<CachingStore>(below_, *cache);
  StoreWhileAway store(caching, contact_);
  for (const char* key : {"put", "removed", "asked", "never replaced"}) {
    memory_->Put(key, std::string(50, 'x'));
    ASSERT_TRUE(store.Open(key, kAll, Deadline::None()));
  }
  store.Replaced("put", *memory_->Stat("put", Deadline::None()));
  store.Replaced("removed", std::nullopt);
  store.Replaced("asked", std::nullopt);
  for (int i = 0; i < 100'000; ++i) store.Replaced("shard " + std::to_string(i), std::nullopt);
  memory_->Remove("asked");
  ASSERT_EQ(*store.Stat("asked", Deadline::None()), std::nullopt);
  memory_->Put("asked", std::string(50, 'x'));
  for (const char* key : {"put", "removed", "asked", "never replaced"}) {
    ASSERT_TRUE(caching->Open(key, kAll, Deadline::None()));
  }
  (*cache)->Flush();
  below_->away = true;
  for (const char* key : {"put", "removed", "asked"}) {
    EXPECT_FALSE(store.Stat(key, Deadline::None())) << key;
    EXPECT_FALSE(store.Open(key, kAll, Deadline::None())) << key;
    EXPECT_EQ(store.OpenCached(key, kAll).version, nullptr) << key;
  }
  EXPECT_TRUE(store.Open("never replaced", kAll, Deadline::None()));
}

TEST_F(StoreWhileAwayTest, WhatWasRemovedIsNotSaidAgainOnceItWasAskedFor) {
  TemporaryDirectory folder;
  const auto cache = DiskCache::Open(folder.path() + "/cache", {1 << 20, 1 << 20});
  ASSERT_TRUE(cache);
  const auto caching = std::make_shared<CachingStore>(below_, *cache);
  StoreWhileAway store(caching, contact_);
  memory_->Put("removed", std::string(50, 'x'));
  store.Replaced("removed", std::nullopt);
  ASSERT_TRUE(caching->Open("removed", kAll, Deadline::None()));
  (*cache)->Flush();
  memory_->Remove("removed");
  EXPECT_EQ(*store.Stat("removed", Deadline::None()), std::nullopt);
  below_->away = true;
  EXPECT_FALSE(store.Open("removed", kAll, Deadline::None()));
}

TEST(KeyFilterTest, HoldsWhatWasAddedAndLittleElse) {
  KeyFilter filter;
  EXPECT_FALSE(filter.MayHold(""));
  for (int i = 0; i < 100'000; ++i) filter.Add("c/" + std::to_string(i));
  int others = 0;
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(filter.MayHold("c/" + std::to_string(i)));
    others += filter.MayHold("d/" + std::to_string(i)) ? 1 : 0;
  }
  EXPECT_LT(others, 5'000);
}

TEST_F(StoreWhileAwayTest, OtherFailuresArePassedOn) {
  memory_->Put("seen", "12345");
  EXPECT_EQ(Size("seen"), "5");
  below_->failure = ErrorCode::kPermissionDenied;
  below_->away = true;
  EXPECT_EQ(Size("seen"), "?");
  EXPECT_FALSE(is_away_);
}

TEST_F(StoreWhileAwayTest, AFailureRightAfterAnAnswerDoesNotMeanThatTheStoreIsAway) {
  contact_->Answered();
  contact_->FoundAway({ErrorCode::kUnavailable, "slow", 0});
  EXPECT_FALSE(is_away_);
}

}  // namespace
}  // namespace unshard
