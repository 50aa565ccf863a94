// A shard set whose shards are replaced by our own publishes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "store/local/file_store.h"
#include "store/shard/set.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_shards.h"

namespace unshard {
namespace {

using namespace std::chrono_literals;

// Says that it watches; tests tell the events themselves.
class SilentWatcher final : public ChangeWatcher {
 public:
  bool Watch(std::string_view) override { return true; }
};

class ShardSetOwnPublishTest : public testing::Test {
 protected:
  void SetUp() override { SetUpWithCounts(4); }
  void SetUpWithCounts(std::uint32_t limit) {
    auto store = OpenFileStore(directory_.path(), 16);
    ASSERT_TRUE(store) << store.error().message;
    store_ = *std::move(store);
    ShardSetOptions options;
    options.generation_count_limit = limit;
    options.max_remembered = 8;
    set_ = std::make_unique<ShardSet>(store_, "", std::make_shared<TinyShardFormat>(4),
                                      std::make_shared<TinyShardKeys>(),
                                      std::make_shared<SilentWatcher>(), cache_, options);
  }
  static std::string Shard(const std::string& chunk) {
    return EncodeTinyShard({chunk, "", "", ""});
  }
  ShardGenerationPtr Current(std::uint64_t shard = 7) {
    auto current = set_->Current(shard, Deadline::None());
    EXPECT_TRUE(current) << current.error().message;
    return current ? *current : nullptr;
  }
  Result<std::string> Read(const ShardGenerationPtr& generation) {
    UNSHARD_ASSIGN_OR_RETURN(const auto page, set_->Page(generation, 0, Deadline::None()));
    const auto range = page->Find(0);
    if (!range) return "(empty)";
    UNSHARD_ASSIGN_OR_RETURN(const Bytes bytes,
                             set_->ReadStored(generation, *range, Deadline::None()));
    return std::string(AsText(bytes.span()));
  }
  std::string Chunk(const ShardGenerationPtr& generation) {
    const auto text = Read(generation);
    return text ? *text : text.error().message;
  }
  std::optional<Generation> Stored() {
    const auto info = store_->Stat("7.shard", Deadline::None());
    if (!info || !*info) return std::nullopt;
    return (*info)->generation;
  }
  // Replaces the shard as a publish does; an empty chunk removes it.
  ShardGenerationPtr Publish(const std::string& chunk, ShardSet::OwnPublish own = {}) {
    own.base = Stored();
    auto replacement = *set_->BeginReplacement(7, Deadline::None());
    if (chunk.empty()) {
      directory_.Remove("7.shard");
    } else {
      directory_.Replace("7.shard", Shard(chunk));
    }
    own.published = Stored();
    auto finished = replacement.Finish(own);
    EXPECT_TRUE(finished) << finished.error().message;
    return finished ? *finished : nullptr;
  }
  std::vector<ShardSet::Change> Event() { return set_->Invalidate("7.shard").changes; }

  TemporaryDirectory directory_;
  std::shared_ptr<ObjectStore> store_;
  const std::shared_ptr<IndexCache> cache_ = std::make_shared<IndexCache>(1 << 20);
  std::unique_ptr<ShardSet> set_;
};

TEST_F(ShardSetOwnPublishTest, TheCountAndTheShownTimeStayAndItsEventIsNoChange) {
  directory_.Replace("7.shard", Shard("a"));
  directory_.Age("7.shard");
  const auto old = Current();
  EXPECT_EQ(Chunk(old), "a");
  const auto published = Publish("b");
  ASSERT_TRUE(published);
  EXPECT_EQ(published, Current());
  EXPECT_NE(published, old);
  EXPECT_EQ(published->count, old->count);
  EXPECT_NE(published->serial, old->serial);
  EXPECT_EQ(published->modified.tv_sec, old->object->info().modified.tv_sec);
  EXPECT_NE(published->modified.tv_sec, published->object->info().modified.tv_sec);
  EXPECT_EQ(set_->Find(7, old->count), published);
  EXPECT_TRUE(Event().empty());
  EXPECT_EQ(Current(), published);
  EXPECT_EQ(Chunk(published), "b");
  EXPECT_EQ(Chunk(old), "a");
  EXPECT_EQ(Publish("c")->modified.tv_sec, old->modified.tv_sec);
}

TEST_F(ShardSetOwnPublishTest, AfterItsEventReadersAreUpToDateUnlikeAfterOthers) {
  const auto up_to_date = [&](const std::string& key) { return set_->Invalidate(key).up_to_date; };
  directory_.Replace("7.shard", Shard("a"));
  EXPECT_FALSE(up_to_date("7.shard")) << "nobody has asked for it, so that nobody was told of it";
  Current();
  EXPECT_TRUE(up_to_date("7.shard"));
  Publish("b");
  EXPECT_TRUE(up_to_date("7.shard"));
  Publish("");
  EXPECT_TRUE(up_to_date("7.shard"));
  directory_.Replace("7.shard", Shard("c"));
  EXPECT_FALSE(up_to_date("7.shard"));
  EXPECT_TRUE(up_to_date("7.shard")) << "told of once";
  EXPECT_FALSE(up_to_date("")) << "not the key of a shard";
  EXPECT_FALSE(up_to_date("8.shard"));
  EXPECT_TRUE(up_to_date("8.shard.__lock")) << "of no concern to anybody";
  EXPECT_TRUE(up_to_date("8.shard.new.__lock"));
  EXPECT_FALSE(up_to_date("notes.__lock"));
}

TEST_F(ShardSetOwnPublishTest, AKnownIndexPageIsNotReadAgain) {
  directory_.Replace("7.shard", Shard("a"));
  EXPECT_EQ(Chunk(Current()), "a");
  const auto loaded = set_->Page(Publish("b"), 0, Deadline::None());
  ASSERT_TRUE(loaded);
  const std::uint64_t reads = set_->counters().index_reads;
  ShardSet::OwnPublish own;
  own.page = *loaded;  // of the same shard
  const auto published = Publish("c", own);
  EXPECT_EQ(Chunk(published), "c");
  EXPECT_EQ(set_->counters().index_reads, reads);
  EXPECT_TRUE(Event().empty());
  EXPECT_EQ(Chunk(Current()), "c");
  EXPECT_EQ(set_->counters().index_reads, reads);
  // Of a version that another process has put there meanwhile nothing is known.
  auto replacement = *set_->BeginReplacement(7, Deadline::None());
  own.base = Stored();
  directory_.Replace("7.shard", Shard("d"));
  own.published = Stored();
  directory_.Replace("7.shard", Shard("longer"));
  ASSERT_TRUE(replacement.Finish(own));
  EXPECT_EQ(Chunk(Current()), "longer");
  EXPECT_EQ(set_->counters().index_reads, reads + 1);
}

// Else a mount that writes for long fills its memory with them.
TEST_F(ShardSetOwnPublishTest, PagesOfAGenerationLeaveTheCacheWithIt) {
  directory_.Replace("7.shard", Shard("a"));
  EXPECT_EQ(Chunk(Current()), "a");
  const std::uint64_t entries = cache_->counters().entries;
  ShardGenerationPtr old = Current();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Chunk(Publish(std::to_string(i))), std::to_string(i));
  EXPECT_EQ(cache_->counters().entries, entries + 1) << "one generation is still read";
  EXPECT_EQ(Chunk(old), "a");
  old = nullptr;
  EXPECT_EQ(cache_->counters().entries, entries);
  directory_.Replace("7.shard", Shard("of another writer"));
  Event();
  EXPECT_EQ(Chunk(Current()), "of another writer");
  EXPECT_EQ(cache_->counters().entries, entries);
}

TEST_F(ShardSetOwnPublishTest, AShardThatWasMissingShowsTheTimeOfItsObject) {
  EXPECT_FALSE(Current()->object);
  const auto published = Publish("a");
  EXPECT_EQ(published->modified.tv_sec, published->object->info().modified.tv_sec);
  EXPECT_EQ(published->count, 0u);
  EXPECT_TRUE(Event().empty());
  const auto removed = Publish("");
  EXPECT_FALSE(removed->object);
  EXPECT_EQ(removed->count, 0u);
  EXPECT_EQ(Chunk(removed), "(empty)");
  EXPECT_TRUE(Event().empty());
  EXPECT_EQ(Chunk(published), "a");
}

TEST_F(ShardSetOwnPublishTest, ReferencesOfTheCountMoveToTheNewGeneration) {
  directory_.Replace("7.shard", Shard("a"));
  auto old = Current();
  const std::uint32_t count = old->count;
  set_->AddReference(old);
  Publish("b");
  set_->AddReference(old);  // by somebody who had found it before
  const std::weak_ptr<const ShardGeneration> watched = old;
  old.reset();
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(Chunk(set_->Find(7, count)), "b");
  directory_.Replace("7.shard", Shard("c"));
  ASSERT_EQ(Event().size(), 1u);
  EXPECT_NE(Current()->count, count);
  EXPECT_EQ(Chunk(set_->Find(7, count)), "b");
  set_->DropReferences(7, count, 1);
  EXPECT_EQ(Chunk(set_->Find(7, count)), "b");
  set_->DropReferences(7, count, 1);
  EXPECT_FALSE(set_->Find(7, count));
}

TEST_F(ShardSetOwnPublishTest, ACountIsNotUsedAgainWhileAnyGenerationThatHadItIsHeld) {
  directory_.Replace("7.shard", Shard("a"));
  const auto old = Current();
  Publish("b");
  for (int i = 0; i < 10; ++i) {
    directory_.Replace("7.shard", Shard(std::string(1, static_cast<char>('c' + i))));
    ASSERT_EQ(Event().size(), 1u);
    EXPECT_NE(Current()->count, old->count) << i;
  }
  // Whoever still has it can refer to it, and finds what it is.
  set_->AddReference(old);
  EXPECT_EQ(set_->Find(7, old->count), old);
  set_->DropReferences(7, old->count, 1);
}

TEST_F(ShardSetOwnPublishTest, AShardWithAHeldOldGenerationIsNotForgotten) {
  directory_.Replace("7.shard", Shard("a"));
  const auto old = Current();
  auto published = Publish("b");
  const std::uint64_t serial = published->serial;
  published.reset();
  for (std::uint64_t shard = 100; shard < 150; ++shard) Current(shard);
  EXPECT_EQ(Current()->serial, serial);
}

TEST_F(ShardSetOwnPublishTest, APublishOnABaseThatWasNotYetSeenIsAChangeToBeTold) {
  directory_.Replace("7.shard", Shard("a"));
  const auto old = Current();
  directory_.Replace("7.shard", Shard("by others"));  // its event is still to come
  const auto published = Publish("b");
  EXPECT_NE(published->count, old->count);
  EXPECT_EQ(published->modified.tv_sec, published->object->info().modified.tv_sec);
  const auto changes = Event();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].before, old);
  EXPECT_EQ(changes[0].after, published);
  EXPECT_TRUE(Event().empty());
}

TEST_F(ShardSetOwnPublishTest, AChangeBeforeItThatIsStillToBeToldIsTold) {
  directory_.Replace("7.shard", Shard("a"));
  const auto told = Current();
  directory_.Replace("7.shard", Shard("by others"));
  Publish("b");  // finds it, on a base that was not yet seen
  const auto middle = Current();
  const auto published = Publish("c");
  EXPECT_EQ(published->count, middle->count);
  const auto changes = Event();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].before, told);
  EXPECT_EQ(changes[0].after, published);
}

// Look-ups may have been answered by what is gone again when the event comes.
TEST_F(ShardSetOwnPublishTest, WhatWasShownBetweenTwoEventsIsToldAsWell) {
  directory_.Replace("7.shard", Shard("a"));
  const auto told = Current();
  directory_.Replace("7.shard", Shard("by others"));
  const auto middle = Publish("b");
  EXPECT_EQ(middle, Current());
  directory_.Replace("7.shard", Shard("by others, again"));
  const auto last = Publish("c");
  EXPECT_NE(last->count, middle->count);
  const auto changes = Event();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].before, told);
  EXPECT_EQ(changes[0].between, std::vector<ShardGenerationPtr>{middle});
  EXPECT_EQ(changes[0].after, last);
  EXPECT_TRUE(Event().empty());
}

TEST_F(ShardSetOwnPublishTest, MoreGenerationsBetweenTwoEventsThanAreKeptMakeAllBeLookedUp) {
  SetUpWithCounts(64);
  directory_.Replace("7.shard", Shard("a"));
  Current();
  for (int i = 0; i < 20; ++i) {
    directory_.Replace("7.shard", Shard("by others " + std::to_string(i)));
    Publish("b" + std::to_string(i));
  }
  const auto changes = Event();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_FALSE(changes[0].before) << "nobody knows all that was shown";
  EXPECT_LT(changes[0].between.size(), 10u) << "each keeps a file open";
  EXPECT_EQ(changes[0].after, Current());
  EXPECT_TRUE(Event().empty());
}

TEST_F(ShardSetOwnPublishTest, AnObjectThatIsNotThePublishedOneIsAChange) {
  directory_.Replace("7.shard", Shard("a"));
  const auto old = Current();
  ShardSet::OwnPublish own;
  own.base = Stored();
  auto replacement = *set_->BeginReplacement(7, Deadline::None());
  directory_.Replace("7.shard", Shard("b"));
  own.published = Stored();
  directory_.Replace("7.shard", Shard("of another writer"));
  const auto found = replacement.Finish(own);
  ASSERT_TRUE(found);
  EXPECT_NE((*found)->count, old->count);
  EXPECT_EQ(Chunk(*found), "of another writer");
  EXPECT_EQ(Event().size(), 1u);
}

TEST_F(ShardSetOwnPublishTest, LooksWaitForTheOutcomeAndReadersDoNot) {
  directory_.Replace("7.shard", Shard("a"));
  const auto old = Current();
  ShardSet::OwnPublish own;
  own.base = Stored();
  std::optional<ShardSet::Replacement> replacement;
  replacement.emplace(*set_->BeginReplacement(7, Deadline::None()));
  directory_.Replace("7.shard", Shard("b"));
  own.published = Stored();
  EXPECT_EQ(Current(), old);  // nobody has said that it changed
  EXPECT_EQ(Chunk(old), "a");
  auto event = std::async(std::launch::async, [&] { return Event(); });
  EXPECT_EQ(event.wait_for(50ms), std::future_status::timeout);
  auto look = std::async(std::launch::async, [&] { return Current(); });
  EXPECT_EQ(look.wait_for(50ms), std::future_status::timeout);
  const auto published = replacement->Finish(own);
  ASSERT_TRUE(published);
  EXPECT_TRUE(event.get().empty());
  EXPECT_EQ(look.get(), *published);
}

TEST_F(ShardSetOwnPublishTest, AnAbandonedReplacementLetsLooksGoOn) {
  directory_.Replace("7.shard", Shard("a"));
  const auto old = Current();
  std::future<std::vector<ShardSet::Change>> event;
  {
    const auto replacement = *set_->BeginReplacement(7, Deadline::None());
    event = std::async(std::launch::async, [&] { return Event(); });
    EXPECT_EQ(event.wait_for(50ms), std::future_status::timeout);
  }
  EXPECT_TRUE(event.get().empty());
  EXPECT_EQ(Current(), old);
}

TEST_F(ShardSetOwnPublishTest, AReplacementWaitsForTheOneBeforeIt) {
  std::optional<ShardSet::Replacement> first;
  first.emplace(*set_->BeginReplacement(7, Deadline::None()));
  auto second = std::async(std::launch::async, [&] { Publish("b"); });
  EXPECT_EQ(second.wait_for(50ms), std::future_status::timeout);
  first.reset();
  second.get();
  EXPECT_EQ(Chunk(Current()), "b");
}

class ReplacedWhileUnwatchedTest : public testing::Test {
 protected:
  ReplacedWhileUnwatchedTest() {
    Put("a");
    options_.ttl_milliseconds = 0;
    Make();
  }
  void Make() {
    set_ = std::make_unique<ShardSet>(counting_, "", std::make_shared<TinyShardFormat>(4),
                                      std::make_shared<TinyShardKeys>(), nullptr,
                                      std::make_shared<IndexCache>(1 << 20), options_);
  }
  void Put(const std::string& chunk) {
    memory_->Put("7.shard", EncodeTinyShard({chunk, "", "", ""}));
  }
  std::optional<Generation> Stored() {
    return (*memory_->Stat("7.shard", Deadline::None()))->generation;
  }
  // Fails where it would wait for long.
  Result<ShardGenerationPtr> Current() {
    return set_->Current(7, {std::chrono::steady_clock::now() + 10s, {}});
  }
  ShardSet::Replacement Begin() { return *set_->BeginReplacement(7, Deadline::None()); }
  ShardSet::OwnPublish PutOwn(const std::string& chunk) {
    ShardSet::OwnPublish own;
    own.base = Stored();
    Put(chunk);
    own.published = Stored();
    return own;
  }
  std::uint64_t opens() const { return counting_->total().opens; }

  const std::shared_ptr<MemoryStore> memory_ =
      std::make_shared<MemoryStore>(Capabilities{.keeps_replaced_versions = false});
  const std::shared_ptr<CountingStore> counting_ = std::make_shared<CountingStore>(memory_);
  ShardSetOptions options_;
  std::unique_ptr<ShardSet> set_;
};

TEST_F(ReplacedWhileUnwatchedTest, WhatIsKnownIsServedWithoutARequestHoweverOldItIs) {
  const auto old = Current();
  ASSERT_TRUE(old);
  const std::uint64_t before = opens();
  auto replacement = Begin();
  for (int i = 0; i < 3; ++i) {
    const auto current = Current();
    ASSERT_TRUE(current) << current.error().message;
    EXPECT_EQ(*current, *old);
  }
  EXPECT_EQ(opens(), before);
  const auto published = replacement.Finish(PutOwn("b"));
  ASSERT_TRUE(published);
  EXPECT_EQ((*published)->count, (*old)->count);
  EXPECT_EQ(opens(), before + 1);
  EXPECT_EQ(*Current(), *published);
  EXPECT_EQ(opens(), before + 2) << "the ttl counts again";
}

TEST_F(ReplacedWhileUnwatchedTest, AShardThatNobodyKnowsIsOpened) {
  auto replacement = Begin();
  const auto first = Current();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE((*first)->object);
  const auto published = replacement.Finish(PutOwn("b"));
  ASSERT_TRUE(published);
  EXPECT_EQ((*published)->count, (*first)->count);
}

// What a refresh has opened before the publish does not take the place of what was published.
TEST_F(ReplacedWhileUnwatchedTest, NoRefreshIsWaitedForAndNoneBringsTheBaseBack) {
  const auto old = Current();
  std::promise<void> opened, go_on;
  std::atomic<int> looks{0};
  counting_->OnOpened([&](std::string_view) {
    if (looks++ != 0) return;
    opened.set_value();
    go_on.get_future().wait_for(10s);
  });
  auto refresh = std::async(std::launch::async, [&] { return Current(); });
  ASSERT_EQ(opened.get_future().wait_for(10s), std::future_status::ready);
  auto replacement = Begin();
  const auto published = replacement.Finish(PutOwn("b"));
  ASSERT_TRUE(published);
  EXPECT_EQ((*published)->count, (*old)->count);
  go_on.set_value();
  const auto refreshed = refresh.get();
  ASSERT_TRUE(refreshed) << refreshed.error().message;
  EXPECT_EQ(*refreshed, *published);
}

// The store has done what was asked, and its answer is on the way.
TEST_F(ReplacedWhileUnwatchedTest, AVersionThatAReadMeetsIsOursOnceTheOutcomeIsKnown) {
  const auto old = *Current();
  auto replacement = Begin();
  const ShardSet::OwnPublish own = PutOwn("b");
  const auto read = set_->ReadStored(old, {0, 1}, Deadline::None());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kConflict);
  auto reader = std::async(std::launch::async, [&] { return Current(); });
  EXPECT_EQ(reader.wait_for(50ms), std::future_status::timeout);
  const auto published = replacement.Finish(own);
  ASSERT_TRUE(published);
  const auto current = reader.get();
  ASSERT_TRUE(current) << current.error().message;
  EXPECT_EQ(*current, *published);
  EXPECT_EQ((*current)->count, old->count);
}

TEST_F(ReplacedWhileUnwatchedTest, AfterItsPatienceAReaderTakesTheVersionForThatOfAnother) {
  options_.outcome_patience = 0ms;
  Make();
  const auto old = *Current();
  auto replacement = Begin();
  const ShardSet::OwnPublish own = PutOwn("b");
  ASSERT_FALSE(set_->ReadStored(old, {0, 1}, Deadline::None()));
  const auto current = Current();
  ASSERT_TRUE(current) << current.error().message;
  EXPECT_NE((*current)->count, old->count);
  const auto published = replacement.Finish(own);
  ASSERT_TRUE(published);
  EXPECT_EQ(*published, *current);
}

TEST_F(ReplacedWhileUnwatchedTest, AReplacementWaitsForAnotherUntilItsDeadline) {
  const auto first = Begin();
  const auto second = set_->BeginReplacement(7, {std::chrono::steady_clock::now(), {}});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().system_errno, ETIMEDOUT);
  EXPECT_TRUE(set_->BeginReplacement(8, Deadline::None()));
}

// Each published version is larger than the one before, so that a reader that sees an older one
// than it has seen is noticed.
TEST_F(ShardSetOwnPublishTest, ReadersSeeWholeVersionsInOrderOnNodesThatStay) {
  Publish("0");
  const std::uint32_t count = Current()->count;
  set_->AddReference(Current());
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> reads{0}, bad{0}, told{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      int seen = 0;
      while (!stop) {
        const auto current = set_->Current(7, Deadline::None());
        const auto node = set_->Find(7, count);
        if (!current || !node || (*current)->count != count) {
          ++bad;
          continue;
        }
        set_->AddReference(*current);
        const auto text = Read(node);
        set_->DropReferences(7, count, 1);
        // Read while its file lost its name: its reader starts over.
        if (!text && text.error().code == ErrorCode::kConflict) continue;
        const bool whole = text && text->find_first_not_of("0123456789") == text->npos;
        const int version = whole ? std::stoi(*text) : -1;
        if (version < seen) ++bad;
        seen = version;
        ++reads;
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop) told += Event().size();
  });
  int last = 0;
  while (last < 300 || (reads <= 100 && last < 30000)) Publish(std::to_string(++last));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bad, 0u);
  EXPECT_EQ(told, 0u);
  EXPECT_GT(reads, 100u);
  EXPECT_EQ(Chunk(set_->Find(7, count)), std::to_string(last));
}

}  // namespace
}  // namespace unshard
