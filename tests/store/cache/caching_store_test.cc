#include "store/cache/caching_store.h"

#include <gtest/gtest.h>

#include <chrono>

#include "store/local/inotify_watcher.h"
#include "store/object/time_now.h"
#include "store/shard/set.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_shards.h"

namespace unshard {
namespace {

using State = ReadResult::State;

const Deadline kNone = Deadline::None();

// Each Remount() is another process: nothing but the folder stays.
class CachingStoreTest : public testing::Test {
 protected:
  CachingStoreTest() { Remount(); }
  void Remount(const ShardSetOptions& options = {}) {
    set_.reset();
    store_.reset();
    cache_.reset();
    cache_ = *DiskCache::Open(directory_.At("cache"), {std::uint64_t{16} << 20});
    store_ = std::make_shared<CachingStore>(counting_, cache_);
    set_ = std::make_unique<ShardSet>(store_, "scale", std::make_shared<TinyShardFormat>(4),
                                      std::make_shared<TinyShardKeys>(false), MakeNullWatcher(),
                                      std::make_shared<IndexCache>(1 << 20), options);
    counting_->Reset();
  }
  static std::string Chunk(char letter) { return std::string(200, letter); }
  void PutShard(char letter) {
    memory_->Put("scale/7.shard",
                 EncodeTinyShard({Chunk(letter), "", Chunk(static_cast<char>(letter + 1)), ""}));
  }
  // As a look-up does: what was opened is validated by reading.
  Result<std::string> Read(std::uint64_t slot) {
    UNSHARD_ASSIGN_OR_RETURN(const auto shard,
                             set_->Current(7, kNone, ShardSet::Trust::kUncontradicted));
    UNSHARD_ASSIGN_OR_RETURN(const auto page, set_->Page(shard, 0, kNone));
    const auto range = page->Find(slot);
    if (!range) return std::string("(empty)");
    UNSHARD_ASSIGN_OR_RETURN(const Bytes bytes, set_->ReadStored(shard, *range, kNone));
    cache_->Flush();
    return std::string(AsText(bytes.span()));
  }
  AccessCounts Spent() {
    const AccessCounts counts = counting_->total();
    counting_->Reset();
    return counts;
  }

  TemporaryDirectory directory_;
  const std::shared_ptr<MemoryStore> memory_ =
      std::make_shared<MemoryStore>(Capabilities{.keeps_replaced_versions = false});
  const std::shared_ptr<CountingStore> counting_ = std::make_shared<CountingStore>(memory_);
  std::shared_ptr<DiskCache> cache_;
  std::shared_ptr<CachingStore> store_;
  std::unique_ptr<ShardSet> set_;
};

TEST_F(CachingStoreTest, AfterARemountAChunkCostsOneRequestAndItsIndexNone) {
  PutShard('a');
  EXPECT_EQ(*Read(0), Chunk('a'));
  EXPECT_EQ(Spent().requests(), 2u) << "the opening brings the index";
  Remount();
  EXPECT_EQ(*Read(2), Chunk('b'));
  const AccessCounts spent = Spent();
  EXPECT_EQ(spent.requests(), 1u);
  EXPECT_EQ(spent.opens, 0u);
  EXPECT_EQ(*Read(0), Chunk('a'));
  EXPECT_EQ(Spent().requests(), 0u) << "its bytes are kept as well";
}

TEST_F(CachingStoreTest, BytesFromTheDiskProveNothing) {
  PutShard('a');
  EXPECT_EQ(*Read(0), Chunk('a'));
  Remount();
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(*Read(0), Chunk('a'));
  const auto shard = *set_->Current(7, kNone, ShardSet::Trust::kUncontradicted);
  EXPECT_FALSE(set_->ValidatedSince(*shard, begun));
  EXPECT_EQ(Spent().requests(), 0u);
  // Who asks for what is current within the ttl gets an answer of the store, which has not changed.
  EXPECT_EQ(*set_->Current(7, kNone), shard);
  EXPECT_EQ(Spent().requests(), 1u);
  EXPECT_EQ(*set_->Current(7, kNone), shard);
  EXPECT_EQ(Spent().requests(), 0u);
}

TEST_F(CachingStoreTest, AShardThatWasReplacedCostsOneRequestThatFails) {
  PutShard('a');
  EXPECT_EQ(*Read(0), Chunk('a'));
  Remount();
  PutShard('x');
  EXPECT_EQ(Read(2).error().code, ErrorCode::kConflict);
  EXPECT_EQ(Spent().requests(), 1u);
  EXPECT_EQ(*Read(2), Chunk('y'));
  EXPECT_EQ(Spent().requests(), 2u);
  Remount();
  EXPECT_EQ(*Read(0), Chunk('x'));
  EXPECT_EQ(Spent().requests(), 1u) << "the cache keeps the new index";
}

TEST_F(CachingStoreTest, WhoAsksWhatIsCurrentIsNotGivenWhatWasReplaced) {
  PutShard('a');
  EXPECT_EQ(*Read(0), Chunk('a'));
  Remount();
  PutShard('x');
  const auto shard = *set_->Current(7, kNone);
  EXPECT_EQ(Spent().opens, 1u);
  EXPECT_EQ(AsText(set_->ReadStored(shard, {64, 200}, kNone)->span()), Chunk('x'));
}

TEST_F(CachingStoreTest, AShardThatIsGoneIsNotOpenedFromTheDisk) {
  PutShard('a');
  EXPECT_EQ(*Read(0), Chunk('a'));
  Remount();
  memory_->Remove("scale/7.shard");
  EXPECT_FALSE(Read(2));
  EXPECT_EQ(*Read(2), "(empty)");
  Remount();
  EXPECT_EQ(*Read(2), "(empty)");
  EXPECT_EQ(counting_->of("scale/7.shard").opens, 1u);
}

TEST_F(CachingStoreTest, WhatNeverChangesIsReadFromTheDiskAlone) {
  ShardSetOptions options;
  options.immutable = true;
  PutShard('a');
  EXPECT_EQ(*Read(0), Chunk('a'));
  Remount(options);
  ASSERT_TRUE(set_->Current(7, kNone));
  EXPECT_EQ(*Read(0), Chunk('a'));
  EXPECT_EQ(Spent().requests(), 0u);
}

TEST_F(CachingStoreTest, AnotherOpeningRangeIsNotTheOneThatWasKept) {
  memory_->Put("object", std::string(50, 'a') + std::string(50, 'z'));
  ASSERT_TRUE(store_->Open("object", RangeRequest::At(0, 50), kNone));
  cache_->Flush();
  const auto kept = store_->OpenCached("object", RangeRequest::At(0, 50));
  ASSERT_TRUE(kept.version);
  EXPECT_EQ(AsText(kept.first.span()), std::string(50, 'a'));
  EXPECT_FALSE(store_->OpenCached("object", RangeRequest::Suffix(50)).version);
  EXPECT_FALSE(store_->OpenCached("object", RangeRequest::At(0, 0)).version);
  EXPECT_FALSE(store_->OpenCached("other", RangeRequest::At(0, 50)).version);
}

// Its next version could have the same validator.
TEST_F(CachingStoreTest, AnObjectThatWasModifiedAMomentAgoIsNotKept) {
  memory_->Put("object", std::string(100, 'a'));
  memory_->SetModified("object", TimeNow());
  const auto opened = store_->Open("object", RangeRequest::At(0, 80), kNone);
  ASSERT_TRUE(opened);
  ASSERT_TRUE(opened->version->Read(RangeRequest::At(0, 100), kNone));
  cache_->Flush();
  EXPECT_EQ(cache_->counters().written, 0u);
}

TEST_F(CachingStoreTest, WhatWasReplacedAMomentAgoIsNotOpenedFromTheDisk) {
  const RangeRequest first = RangeRequest::At(0, 80);
  for (const char* key : {"by another process", "by this one"}) {
    memory_->Put(key, std::string(100, 'a'));
    ASSERT_TRUE(store_->Open(key, first, kNone));
    ASSERT_TRUE((cache_->Flush(), store_->OpenCached(key, first).version));
    memory_->Put(key, std::string(100, 'b'));
    memory_->SetModified(key, TimeNow());
  }
  ASSERT_TRUE(store_->Open("by another process", first, kNone));
  store_->Replaced("by this one", *memory_->Stat("by this one", kNone));
  cache_->Flush();
  EXPECT_FALSE(store_->OpenCached("by another process", first).version);
  EXPECT_FALSE(store_->OpenCached("by this one", first).version);
}

TEST_F(CachingStoreTest, VersionsThatCannotBeToldApartAreNotKept) {
  const auto local = std::make_shared<MemoryStore>();
  local->Put("object", std::string(100, 'a'));
  CachingStore store(local, cache_);
  const auto opened = store.Open("object", RangeRequest::At(0, 80), kNone);
  ASSERT_TRUE(opened);
  ASSERT_TRUE(opened->version->Read(RangeRequest::At(0, 100), kNone));
  cache_->Flush();
  EXPECT_EQ(cache_->counters().written, 0u);
}

TEST_F(CachingStoreTest, ItSaysWhatItHasWithoutReadingIt) {
  memory_->Put("object", std::string(1000, 'a'));
  const auto opened = store_->Open("object", RangeRequest::At(0, 0), kNone);
  EXPECT_FALSE(opened->version->IsCached({100, 200}));
  ASSERT_TRUE(opened->version->Read(RangeRequest::At(100, 200), kNone));
  ASSERT_TRUE(opened->version->Read(RangeRequest::At(0, 8), kNone));
  cache_->Flush();
  EXPECT_TRUE(opened->version->IsCached({100, 200}));
  EXPECT_FALSE(opened->version->IsCached({0, 8})) << "too small";
  const auto again = opened->version->Read(RangeRequest::At(100, 200), kNone);
  EXPECT_EQ(again->age, ReadResult::kCachedAge);
}

}  // namespace
}  // namespace unshard
