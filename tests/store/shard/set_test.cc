#include "store/shard/set.h"
#include "store/local/inotify_watcher.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <stop_token>
#include <thread>

#include "tests/support/counting_store.h"
#include "tests/support/faulty_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/tiny_shards.h"

namespace unshard {
namespace {

// Says that it watches; tests tell the events themselves.
class TrustedWatcher final : public ChangeWatcher {
 public:
  bool Watch(std::string_view directory) override {
    watched.emplace_back(directory);
    return true;
  }
  std::vector<std::string> watched;
};

class ShardSetTest : public testing::Test {
 protected:
  void SetUp() override { Make({}); }
  void Make(const ShardSetOptions& options, bool nested = false, bool has_outer_codec = false,
            bool watched = true) {
    std::shared_ptr<ChangeWatcher> watcher = watcher_;
    if (!watched) watcher = MakeNullWatcher();
    set_ = std::make_unique<ShardSet>(
        counting_, "scale", std::make_shared<TinyShardFormat>(4, has_outer_codec),
        std::make_shared<TinyShardKeys>(nested), watcher, cache_, options);
  }
  ShardGenerationPtr Current(std::uint64_t shard) {
    auto current = set_->Current(shard, Deadline::None());
    EXPECT_TRUE(current) << current.error().message;
    return current ? *current : nullptr;
  }
  Result<std::string> Chunk(const ShardGenerationPtr& generation, std::uint64_t slot) {
    UNSHARD_ASSIGN_OR_RETURN(const auto page, set_->Page(generation, 0, Deadline::None()));
    const auto range = page->Find(slot);
    if (!range) return std::string("(empty)");
    UNSHARD_ASSIGN_OR_RETURN(const Bytes bytes,
                             set_->ReadStored(generation, *range, Deadline::None()));
    return std::string(AsText(bytes.span()));
  }
  static std::string Shard(const std::string& chunk) {
    return EncodeTinyShard({chunk, "", "second of " + chunk, ""});
  }

  std::shared_ptr<MemoryStore> memory_ = std::make_shared<MemoryStore>();
  std::shared_ptr<FaultyStore> faulty_ = std::make_shared<FaultyStore>(memory_);
  std::shared_ptr<CountingStore> counting_ = std::make_shared<CountingStore>(faulty_);
  std::shared_ptr<TrustedWatcher> watcher_ = std::make_shared<TrustedWatcher>();
  std::shared_ptr<IndexCache> cache_ = std::make_shared<IndexCache>(1 << 20);
  std::unique_ptr<ShardSet> set_;
};

TEST_F(ShardSetTest, OpensOnceWalksOnceAndReadsEachChunkOnce) {
  memory_->Put("scale/7.shard", Shard("a"));
  EXPECT_EQ(*Chunk(Current(7), 0), "a");
  EXPECT_EQ(counting_->total().opens, 1u);
  EXPECT_EQ(counting_->total().reads, 1u);
  EXPECT_EQ(*Chunk(Current(7), 2), "second of a");
  EXPECT_EQ(*Chunk(Current(7), 1), "(empty)");
  EXPECT_EQ(counting_->total().opens, 1u);
  EXPECT_EQ(counting_->total().reads, 2u);
  EXPECT_EQ(watcher_->watched, std::vector<std::string>{"scale"});
}

// As a writer leaves it for a moment that overwrites a shard in place: nobody was notified yet.
TEST_F(ShardSetTest, AShardThatWasOpenedWhileItWasOverwrittenIsOpenedAgain) {
  Capabilities remote;
  remote.keeps_replaced_versions = false;
  for (const bool has_outer_codec : {false, true}) {
    memory_ = std::make_shared<MemoryStore>(remote);
    counting_ = std::make_shared<CountingStore>(memory_);
    Make({}, false, has_outer_codec);
    memory_->Put("scale/7.shard", "");
    const auto torn = Current(7);
    EXPECT_EQ(Chunk(torn, 0).error().code, ErrorCode::kDataLoss) << "as long as it is like that";
    memory_->Put("scale/7.shard", has_outer_codec ? Inverted(Shard("a")) : Shard("a"));
    EXPECT_EQ(Current(7), torn);
    EXPECT_EQ(Chunk(torn, 0).error().code, ErrorCode::kConflict);
    EXPECT_EQ(*Chunk(Current(7), 0), "a");
  }
}

// A time in whole seconds may be that of two versions: bytes that make no sense together are asked
// for once more.
TEST_F(ShardSetTest, DamageOfAVersionWithAWeakValidatorCountsAsAChangeOnce) {
  memory_ = std::make_shared<MemoryStore>(Capabilities{.keeps_replaced_versions = false});
  faulty_ = std::make_shared<FaultyStore>(memory_);  // recalls no version, as those stores
  counting_ = std::make_shared<CountingStore>(faulty_);
  Make({}, false, false, false);
  memory_->Put("scale/7.shard", "");
  const auto first = Current(7);
  EXPECT_EQ(Chunk(first, 0).error().code, ErrorCode::kConflict);
  const auto again = Current(7);
  EXPECT_NE(again, first);
  EXPECT_NE(again->count, first->count);
  EXPECT_EQ(Chunk(again, 0).error().code, ErrorCode::kDataLoss) << "it is damaged";
  EXPECT_EQ(Current(7), again);
  EXPECT_FALSE(set_->CountsAsChanged(*again));
  memory_->Put("scale/7.shard", Shard("a"));
  EXPECT_EQ(Chunk(Current(7), 0).error().code, ErrorCode::kConflict);
  EXPECT_EQ(*Chunk(Current(7), 0), "a");
  EXPECT_TRUE(set_->CountsAsChanged(*Current(7))) << "another version";
}

TEST_F(ShardSetTest, AMissingShardIsEmptyAndRememberedUntilItAppears) {
  EXPECT_EQ(*Chunk(Current(7), 0), "(empty)");
  counting_->Reset();
  EXPECT_EQ(*Chunk(Current(7), 0), "(empty)");
  EXPECT_EQ(counting_->total().opens, 0u);
  const auto missing = Current(7);
  memory_->Put("scale/7.shard", Shard("a"));
  const auto changes = set_->Invalidate("scale/7.shard").changes;
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].before, missing);
  EXPECT_EQ(changes[0].after, Current(7));
  EXPECT_EQ(*Chunk(Current(7), 0), "a");
  EXPECT_EQ(*Chunk(missing, 0), "(empty)");
}

TEST_F(ShardSetTest, AChangeOfNothingIsNoChange) {
  memory_->Put("scale/7.shard", Shard("a"));
  const auto before = Current(7);
  EXPECT_TRUE(set_->Invalidate("scale/7.shard").changes.empty());
  EXPECT_TRUE(set_->Invalidate("").changes.empty());
  EXPECT_EQ(Current(7), before);
}

TEST_F(ShardSetTest, AReplacedShardGetsAnotherCountAndTheOldOneIsReadWhileReferenced) {
  memory_->Put("scale/7.shard", Shard("a"));
  auto old = Current(7);
  const std::uint32_t count = old->count;
  set_->AddReference(old);
  set_->AddReference(old);
  old.reset();
  memory_->Put("scale/7.shard", Shard("b"));
  ASSERT_EQ(set_->Invalidate("scale/7.shard").changes.size(), 1u);
  EXPECT_NE(Current(7)->count, count);
  ASSERT_TRUE(set_->Find(7, count));
  EXPECT_EQ(*Chunk(set_->Find(7, count), 0), "a");
  EXPECT_EQ(*Chunk(Current(7), 0), "b");
  set_->DropReferences(7, count, 1);
  EXPECT_TRUE(set_->Find(7, count));
  set_->DropReferences(7, count, 1);
  EXPECT_FALSE(set_->Find(7, count));
  EXPECT_TRUE(set_->Find(7, Current(7)->count));
}

TEST_F(ShardSetTest, CountsAreUsedAgainOnlyWhenTheyAreFree) {
  ShardSetOptions options;
  options.generation_count_limit = 3;
  Make(options);
  const auto replace = [&](int version) {
    memory_->Put("scale/7.shard", Shard(std::to_string(version)));
    set_->Invalidate("scale/7.shard");
  };
  replace(0);
  set_->AddReference(Current(7));
  for (int version = 1; version < 10; ++version) {
    replace(version);
    EXPECT_NE(Current(7)->count, 0u);
    EXPECT_EQ(*Chunk(Current(7), 0), std::to_string(version));
    EXPECT_EQ(*Chunk(set_->Find(7, 0), 0), "0");
  }
  set_->AddReference(Current(7));
  replace(10);
  set_->AddReference(Current(7));
  replace(11);
  const auto exhausted = set_->Current(7, Deadline::None());
  ASSERT_FALSE(exhausted);
  EXPECT_EQ(exhausted.error().code, ErrorCode::kResourceExhausted);
  set_->DropReferences(7, 0, 1);
  EXPECT_EQ(*Chunk(Current(7), 0), "11");
  EXPECT_EQ(Current(7)->count, 0u);
}

TEST_F(ShardSetTest, AnEventOfADirectoryConcernsAllShardsBelowIt) {
  Make({}, /*nested=*/true);
  for (const char* key : {"scale/c/1/0", "scale/c/2/0"}) memory_->Put(key, Shard("a"));
  const std::vector<std::string> directories = {"scale/c", "scale", ""};
  for (const std::string& directory : directories) {
    Current(1);
    Current(2);
    for (const char* key : {"scale/c/1/0", "scale/c/2/0"}) memory_->Put(key, Shard("b"));
    EXPECT_EQ(set_->Invalidate(directory).changes.size(), 2u) << directory;
  }
  memory_->Put("scale/c/1/0", Shard("c"));
  EXPECT_TRUE(set_->Invalidate("scale/c/2").changes.empty());
  EXPECT_TRUE(set_->Invalidate("scale/c/1/0/x").changes.empty());
  EXPECT_TRUE(set_->Invalidate("scale-too").changes.empty());
  EXPECT_EQ(set_->Invalidate("scale/c/1").changes.size(), 1u);
}

TEST_F(ShardSetTest, AConflictMakesTheNextCurrentLookAgainAndIsToldWithItsEvent) {
  memory_->Put("scale/7.shard", Shard("a"));
  const auto old = Current(7);
  memory_->Put("scale/7.shard", Shard("b"));
  faulty_->FailAfter(0, Fault::kChanged);
  const auto conflict = Chunk(old, 0);
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().code, ErrorCode::kConflict);
  EXPECT_EQ(*Chunk(Current(7), 0), "b");
  const auto changes = set_->Invalidate("scale/7.shard").changes;
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].before, old);
  EXPECT_TRUE(set_->Invalidate("scale/7.shard").changes.empty());
}

TEST_F(ShardSetTest, AnErrorIsNotRemembered) {
  memory_->Put("scale/7.shard/file", "x");
  const auto directory = set_->Current(7, Deadline::None());
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(counting_->total().opens, 1u);
  memory_->Remove("scale/7.shard/file");
  memory_->Put("scale/7.shard", Shard("a"));
  const auto generation = Current(7);
  faulty_->FailAfter(0, Fault::kError);
  const auto changes = set_->Invalidate("scale/7.shard").changes;
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].before, generation);
  EXPECT_FALSE(changes[0].after);
  EXPECT_EQ(Current(7), generation);
}

TEST_F(ShardSetTest, EveryFaultOfEveryCallIsAnErrorOnceAndNoWrongBytes) {
  memory_->Put("scale/7.shard", Shard("a"));
  for (const bool caches : {true, false}) {
    cache_ = std::make_shared<IndexCache>(caches ? 1 << 20 : 0);
    const std::uint64_t calls = caches ? 2 : 3;  // without a cache the index is read once more
    for (const Fault fault : {Fault::kError, Fault::kShort, Fault::kChanged}) {
      for (std::uint64_t n = 0; n < calls; ++n) {
        Make({});
        const std::uint64_t before = faulty_->calls();
        faulty_->FailAfter(n, fault);
        const auto read = [&]() -> Result<std::string> {
          UNSHARD_ASSIGN_OR_RETURN(const auto current, set_->Current(7, Deadline::None()));
          return Chunk(current, 2);
        };
        const auto first = read();
        const bool does_no_harm = fault != Fault::kError && n == 0;
        EXPECT_EQ(first.has_value(), does_no_harm) << n;
        EXPECT_EQ(first.value_or("second of a"), "second of a");
        EXPECT_GT(faulty_->calls(), before + n) << "the fault was met";
        const auto second = read();
        ASSERT_TRUE(second) << second.error().message;
        EXPECT_EQ(*second, "second of a");
      }
    }
  }
}

TEST_F(ShardSetTest, AnUnwatchedShardIsLookedAtAgainAfterItsTtl) {
  ShardSetOptions options;
  auto now = std::chrono::steady_clock::now();
  options.ttl_milliseconds = 50;
  options.clock = [&] { return now; };
  Make(options, false, false, /*watched=*/false);
  memory_->Put("scale/7.shard", Shard("a"));
  const auto old = Current(7);
  memory_->Put("scale/7.shard", Shard("b"));
  now += std::chrono::milliseconds(49);
  EXPECT_EQ(Current(7), old);
  now += std::chrono::milliseconds(1);
  EXPECT_NE(Current(7), old);
  memory_->Put("scale/7.shard", Shard("c"));
  EXPECT_EQ(set_->Invalidate("scale/7.shard").changes.size(), 1u);
}

TEST_F(ShardSetTest, AnImmutableSourceIsNeverWatchedNorLookedAtAgain) {
  ShardSetOptions options;
  options.immutable = true;
  options.ttl_milliseconds = 0;
  Make(options);
  memory_->Put("scale/7.shard", Shard("a"));
  const auto old = Current(7);
  memory_->Put("scale/7.shard", Shard("b"));
  EXPECT_TRUE(set_->Invalidate("scale/7.shard").changes.empty());
  EXPECT_EQ(Current(7), old);
  EXPECT_TRUE(watcher_->watched.empty());
}

TEST_F(ShardSetTest, ForgetsIdleShardsAboveItsBoundButNoneInUse) {
  ShardSetOptions options;
  options.max_remembered = 100;
  Make(options);
  for (std::uint64_t shard = 0; shard < 1000; ++shard) {
    memory_->Put("scale/" + std::to_string(shard) + ".shard", Shard(std::to_string(shard)));
  }
  const auto held = Current(0);
  set_->AddReference(Current(1));
  for (std::uint64_t shard = 2; shard < 1000; ++shard) {
    EXPECT_EQ(*Chunk(Current(shard), 0), std::to_string(shard));
  }
  EXPECT_LE(set_->counters().open_shards, 101u);
  counting_->Reset();
  EXPECT_EQ(Current(0), held);
  EXPECT_EQ(*Chunk(Current(1), 0), "1");
  EXPECT_EQ(counting_->total().opens, 0u);
}

TEST_F(ShardSetTest, AForgottenShardNeverMeetsItsOldPagesAndItsChangesAreTold) {
  ShardSetOptions options;
  options.max_remembered = 8;
  Make(options);
  memory_->Put("scale/0.shard", Shard("old"));
  EXPECT_EQ(*Chunk(Current(0), 0), "old");
  for (std::uint64_t shard = 1; shard < 40; ++shard) Current(shard);
  memory_->Put("scale/0.shard", EncodeTinyShard({"", "", "new", ""}));
  const auto changes = set_->Invalidate("scale/0.shard").changes;
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_FALSE(changes[0].before);
  EXPECT_EQ(*Chunk(Current(0), 2), "new");
  EXPECT_EQ(*Chunk(Current(0), 0), "(empty)");
}

TEST_F(ShardSetTest, TheObsoletePairIsReadAsOneShard) {
  const std::string shard = Shard("a");
  memory_->Put("scale/7.index", shard.substr(0, 40));
  memory_->Put("scale/7.data", shard.substr(40));
  const auto generation = Current(7);
  EXPECT_EQ(*Chunk(generation, 0), "a");
  EXPECT_EQ(*Chunk(generation, 2), "second of a");
  memory_->Put("scale/7.data", shard.substr(40));
  EXPECT_EQ(set_->Invalidate("scale/7.data").changes.size(), 1u);
  memory_->Remove("scale/7.data");
  EXPECT_EQ(set_->Invalidate("scale/7.data").changes.size(), 1u);
  const auto half = set_->Current(7, Deadline::None());
  ASSERT_FALSE(half);
  EXPECT_NE(half.error().message.find("7.data"), std::string::npos);
}

TEST_F(ShardSetTest, AShardWithOuterCodecsIsDecodedOnceAndNeverSliced) {
  Make({}, false, /*has_outer_codec=*/true);
  memory_->Put("scale/7.shard", Inverted(Shard("a")));
  const auto generation = Current(7);
  EXPECT_EQ(*Chunk(generation, 0), "a");
  EXPECT_EQ(*Chunk(generation, 2), "second of a");
  EXPECT_EQ(counting_->total().reads, 0u) << "the opening request brought all of it";
  EXPECT_FALSE(set_->SliceStored(generation, {0, 1}));
  const auto beyond = set_->ReadStored(generation, {0, 1000}, Deadline::None());
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, ErrorCode::kDataLoss);
}

TEST_F(ShardSetTest, AShardWithOuterCodecsAboveTheCapIsRefused) {
  ShardSetOptions options;
  options.max_whole_shard_bytes = 10;
  Make(options, false, /*has_outer_codec=*/true);
  memory_->Put("scale/7.shard", Inverted(Shard("a")));
  const auto page = set_->Page(Current(7), 0, Deadline::None());
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().code, ErrorCode::kResourceExhausted);
}

TEST_F(ShardSetTest, OnlyTheDamagedEntryOfATruncatedShardFails) {
  const std::string shard = Shard("a");
  memory_->Put("scale/7.shard", shard.substr(0, shard.size() - 1));
  EXPECT_EQ(*Chunk(Current(7), 0), "a");
  const auto damaged = Chunk(Current(7), 2);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(damaged.error().message.find("scale/7.shard"), std::string::npos);
}

TEST_F(ShardSetTest, ACallerWhoseDeadlineIsOverLeavesTheReadToTheOthers) {
  memory_->Put("scale/7.shard", Shard("a"));
  cache_ = std::make_shared<IndexCache>(0);  // so that the walk has to read
  Make({});
  const auto generation = Current(7);
  memory_->HoldReads();
  std::stop_source signal;
  std::thread interrupted([&] {
    const auto page = set_->Page(
        generation, 0, {std::chrono::steady_clock::time_point::max(), signal.get_token()});
    ASSERT_FALSE(page);
    EXPECT_EQ(page.error().system_errno, EINTR);
  });
  while (memory_->held_reads() < 1) std::this_thread::yield();
  std::thread patient([&] { EXPECT_TRUE(set_->Page(generation, 0, Deadline::None())); });
  while (cache_->counters().misses < 2) std::this_thread::yield();
  signal.request_stop();
  interrupted.join();
  while (memory_->held_reads() < 2) std::this_thread::yield();
  memory_->ReleaseReads();
  patient.join();
}

TEST_F(ShardSetTest, ThreadsThatWantOneShardShareOneOpen) {
  memory_->Put("scale/7.shard", Shard("a"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 100; ++j) EXPECT_EQ(*Chunk(Current(7), 0), "a");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counting_->total().opens, 1u);
  EXPECT_EQ(counting_->total().reads, 400u);
}

}  // namespace
}  // namespace unshard
