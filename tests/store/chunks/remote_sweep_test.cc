// Sweeps through the shards of a store that does not keep replaced versions: what they cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>

#include "store/chunks/precomputed_tree.h"
#include "store/chunks/sweep_windows.h"
#include "store/chunks/zarr_tree.h"
#include "store/object/key.h"
#include "store/object/prefetching_store.h"
#include "tests/support/counting_store.h"
#include "tests/support/faulty_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

constexpr std::uint64_t kChunks = 2048;
constexpr std::uint64_t kChunkBytes = 4000;
constexpr std::uint64_t kCache = std::uint64_t{32} << 20;
// Of a sweep in storage order: the open, 2 chunks, and windows of 32, 34, 68, 136, 272, 544, 480
// and 480 chunks.
constexpr std::uint64_t kCost = 1 + 2 + 8;
using Order = std::vector<std::uint64_t>;

std::string Text(std::uint64_t chunk, int version) {
  std::string text = std::to_string(version) + ":" + std::to_string(chunk) + ":";
  text.resize(kChunkBytes,
              static_cast<char>('a' + (chunk + static_cast<std::uint64_t>(version)) % 26));
  return text;
}

Order Ascending() {
  Order order(kChunks);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

class RemoteSweep : public testing::Test {
 protected:
  void SetUp() override { Open(ZarrSource({kChunks * kChunkBytes}, {kChunkBytes}, {kChunks})); }

  void Open(ShardedSource source, bool remote = true) {
    source_ = std::move(source);
    memory_ = std::make_shared<MemoryStore>(Capabilities{.keeps_replaced_versions = !remote});
    faulty_ = std::make_shared<FaultyStore>(memory_);
    counting_ = std::make_shared<CountingStore>(faulty_);
    decoded_ = std::make_shared<ByteBudgetCache>(kCache);
    std::shared_ptr<ObjectStore> store = counting_;
    if (remote) store = std::make_shared<PrefetchingStore>(counting_, decoded_);
    Publish(1);
    ShardSetOptions options;
    options.ttl_milliseconds = 600'000;
    auto shards =
        std::make_shared<ShardSet>(store, source_.directory, source_.format, source_.keys, nullptr,
                                   std::make_shared<IndexCache>(kCache), options);
    const auto reader = std::make_shared<ChunkReader>(
        decoded_, kCache / 2, std::make_shared<ReadCounters>(), store->capabilities());
    if (source_.zarr) {
      tree_ = MakeZarrTree(1, std::move(shards), reader, *source_.zarr, store);
    } else {
      tree_ = MakePrecomputedTree(1, std::move(shards), reader, *source_.precomputed,
                                  source_.locator, store);
    }
  }

  void Publish(int version) {
    std::map<std::uint64_t, std::string> chunks;
    for (std::uint64_t i = 0; i < kChunks; ++i) chunks[i] = Text(i, version);
    for (const auto& [key, bytes] : source_.Encode(chunks)) {
      memory_->Put(JoinPath(source_.directory, key), bytes);
    }
  }

  // As a program reads that opens the file of a chunk. The version that it has.
  int Version(std::uint64_t chunk) {
    const ChunkRef ref{source_.SlotOf(chunk), ChunkPart::kPlain};
    const auto facts = tree_->chunks().Latest(ref);
    EXPECT_TRUE(facts) << facts.error().message;
    if (!facts || !*facts) return 0;
    EXPECT_EQ((*facts)->size, kChunkBytes);
    const auto piece = tree_->chunks().ReadFound(ref, **facts, 0, kChunkBytes);
    EXPECT_TRUE(piece) << piece.error().message;
    if (!piece) return 0;
    const std::string_view text = AsText(std::get<Bytes>(*piece).span());
    const int version = text.empty() ? 0 : text[0] - '0';
    EXPECT_EQ(text, Text(chunk, version)) << chunk;
    most_cached_ = std::max<std::uint64_t>(most_cached_, decoded_->counters().bytes);
    return version;
  }
  void Sweep(const Order& order) {
    for (const std::uint64_t chunk : order) EXPECT_EQ(Version(chunk), 1);
  }
  [[nodiscard]] std::uint64_t Requests() const { return counting_->total().requests(); }
  [[nodiscard]] std::uint64_t BytesRead() const { return counting_->total().bytes; }

  ShardedSource source_;
  std::shared_ptr<MemoryStore> memory_;
  std::shared_ptr<FaultyStore> faulty_;
  std::shared_ptr<CountingStore> counting_;
  std::shared_ptr<ByteBudgetCache> decoded_;
  std::shared_ptr<ShardedTree> tree_;
  std::atomic<std::uint64_t> most_cached_{0};
};

TEST_F(RemoteSweep, InStorageOrderItCostsAFewRequestsAndNoByteTwice) {
  Sweep(Ascending());
  EXPECT_EQ(Requests(), kCost);
  EXPECT_EQ(BytesRead(), kChunks * kChunkBytes);
}

// Four shards, of kChunks / 4 each.
class RemoteSweepOfFourShards : public RemoteSweep {
 protected:
  static constexpr std::uint64_t kInShard = kChunks / 4;

  void SetUp() override { Open(ZarrSource({kChunks * kChunkBytes}, {kChunkBytes}, {kInShard})); }

  void SweepShard(std::uint64_t shard) {
    for (std::uint64_t i = 0; i < kInShard; ++i) EXPECT_EQ(Version(shard * kInShard + i), 1);
  }
  [[nodiscard]] AccessCounts Of(std::uint64_t shard) const {
    return counting_->of(JoinPath(source_.directory, source_.keys->Key(shard)));
  }
  [[nodiscard]] bool IsBegun(std::uint64_t shard) const {
    for (int i = 0; i < 1000 && Of(shard).requests() < 2; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return Of(shard).requests() == 2;
  }
};

// As programs go through chunks that have not listed them.
TEST_F(RemoteSweepOfFourShards, TheIndexOfTheNextOneIsAskedForOnceTheSweepHasGoneOn) {
  SweepShard(0);
  EXPECT_EQ(Of(1).requests(), 0u) << "the reader may want nothing more";
  SweepShard(1);
  EXPECT_TRUE(IsBegun(2)) << "the open, and one window";
  EXPECT_EQ(Of(3).requests(), 0u);
  SweepShard(2);
  EXPECT_TRUE(IsBegun(3));
  SweepShard(3);
  EXPECT_EQ(BytesRead(), kChunks * kChunkBytes) << "no byte twice";
  EXPECT_LE(Of(3).requests(), Of(1).requests()) << "it costs no more than without";
}

TEST_F(RemoteSweepOfFourShards, WhereTheNextOneIsMissingTheReaderDoesNotAskForItAgain) {
  memory_->Remove(JoinPath(source_.directory, source_.keys->Key(2)));
  SweepShard(0);
  SweepShard(1);
  for (int i = 0; i < 1000 && Of(2).opens < 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const auto facts = tree_->chunks().Latest({source_.SlotOf(2 * kInShard), ChunkPart::kPlain});
  ASSERT_TRUE(facts);
  EXPECT_FALSE(*facts);
  EXPECT_EQ(Of(2).requests(), 1u);
}

// Two shards, of kChunks / 2 each.
class RemoteSweepOfTwoShards : public RemoteSweep {
 protected:
  void SetUp() override { Open(ZarrSource({kChunks * kChunkBytes}, {kChunkBytes}, {kChunks / 2})); }

  // As a listing does.
  void LoadIndexes() {
    for (std::uint64_t shard = 0; shard < 2; ++shard) {
      const auto generation = tree_->shards().Current(shard, Deadline::None());
      ASSERT_TRUE(generation);
      ASSERT_TRUE(tree_->shards().Page(*generation, 0, Deadline::None()));
    }
  }
  void SweepShard(std::uint64_t shard) {
    for (std::uint64_t i = 0; i < kChunks / 2; ++i) EXPECT_EQ(Version(shard * kChunks / 2 + i), 1);
  }
  [[nodiscard]] AccessCounts Second() const {
    return counting_->of(JoinPath(source_.directory, source_.keys->Key(1)));
  }
};

TEST_F(RemoteSweepOfTwoShards, TheNextOneIsBegunBeforeItsFirstRead) {
  LoadIndexes();
  SweepShard(0);
  EXPECT_EQ(Second().requests(), 2u) << "the open, and one window";
  EXPECT_GT(Second().bytes, 0u);
  EXPECT_LE(Second().bytes, kChunks / 2 * kChunkBytes / SweepWindows::kPartOfSwept);
  SweepShard(1);
  EXPECT_EQ(BytesRead(), kChunks * kChunkBytes) << "no byte twice";
  EXPECT_LE(Second().requests(), 8u) << "and no chunk alone";
  EXPECT_LE(Requests(), kChunks / 50);
}

TEST_F(RemoteSweepOfTwoShards, NothingIsAskedOfTheNextOneWhereItsIndexIsNotKnown) {
  SweepShard(0);
  EXPECT_EQ(Second().requests(), 0u);
}

TEST_F(RemoteSweepOfTwoShards, NorWhileTheFirstOneIsReadInPart) {
  LoadIndexes();
  for (std::uint64_t i = 0; i < kChunks / 5; ++i) EXPECT_EQ(Version(i), 1);
  EXPECT_EQ(Second().requests(), 1u);
}

TEST_F(RemoteSweepOfTwoShards, NorByReadsInNoOrder) {
  LoadIndexes();
  Order order(kChunks / 2);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(4));
  Sweep(order);
  EXPECT_EQ(Second().requests(), 1u);
}

TEST_F(RemoteSweep, BackwardsAsWell) {
  Order order = Ascending();
  std::reverse(order.begin(), order.end());
  Sweep(order);
  EXPECT_EQ(Requests(), kCost + 1) << "3 chunks";
  EXPECT_EQ(BytesRead(), kChunks * kChunkBytes);
}

TEST_F(RemoteSweep, ReadsInNoOrderCostOneRequestAChunk) {
  Order order = Ascending();
  std::mt19937 random(4);
  std::shuffle(order.begin(), order.end(), random);
  order.resize(500);
  Sweep(order);
  EXPECT_EQ(Requests(), 1u + 500);
  EXPECT_EQ(BytesRead(), 500 * kChunkBytes);
}

TEST_F(RemoteSweep, ReadsInNoOrderAfterASweepCostOneRequestAChunkAsWell) {
  for (std::uint64_t chunk = 0; chunk < 50; ++chunk) EXPECT_EQ(Version(chunk), 1);
  const std::uint64_t swept = BytesRead() / kChunkBytes;
  Order order = Ascending();
  order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(swept));
  std::mt19937 random(5);
  std::shuffle(order.begin(), order.end(), random);
  order.resize(300);
  counting_->Reset();
  Sweep(order);
  EXPECT_EQ(Requests(), 300u);
  EXPECT_EQ(BytesRead(), 300 * kChunkBytes);
}

TEST_F(RemoteSweep, ByEightThreads) {
  std::atomic<std::uint64_t> next{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (std::uint64_t chunk = 0; (chunk = next++) < kChunks;) EXPECT_EQ(Version(chunk), 1);
      });
    }
  }
  EXPECT_LE(Requests(), kChunks / 50);
  EXPECT_LE(BytesRead(), kChunks * kChunkBytes * 105 / 100);
}

TEST_F(RemoteSweep, OfMinishardsWithGzip) {
  ShardingSpec spec;
  spec.preshift_bits = 9;
  spec.minishard_bits = 2;
  spec.data_encoding = ShardEncoding::kGzip;
  spec.minishard_index_encoding = ShardEncoding::kGzip;
  Open(PrecomputedSource({16 * 4, 16 * 4, 8 * 4}, {4, 4, 4}, spec));
  Order order = Ascending();
  std::sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) {
    return source_.SlotOf(a).slot < source_.SlotOf(b).slot;
  });
  Sweep(order);
  EXPECT_LE(Requests(), kChunks / 50);
}

TEST_F(RemoteSweep, InTheOrderOfTheNamesOfAMortonOrder) {
  ShardingSpec spec;
  spec.preshift_bits = 11;
  Open(PrecomputedSource({16 * 4, 16 * 4, 8 * 4}, {4, 4, 4}, spec));
  Sweep(Ascending());
  EXPECT_LE(Requests(), kChunks / 20);
  EXPECT_LE(BytesRead(), kChunks * kChunkBytes * 105 / 100);
}

TEST_F(RemoteSweep, AShardThatIsReplacedMeanwhileIsReadAgainAndNeverMixed) {
  int before = 1;
  for (const std::uint64_t chunk : Ascending()) {
    if (chunk == 100) Publish(2);
    const int version = Version(chunk);  // checks every byte
    EXPECT_GE(version, before) << chunk;
    before = version;
  }
  EXPECT_EQ(before, 2);
  // Two sweeps, the request that found the change, and the open that follows it.
  EXPECT_LE(Requests(), 2 * kCost + 2);
}

TEST_F(RemoteSweep, RequestsThatFailCostARequestForEachReadThatNeedsThem) {
  for (const Fault fault : {Fault::kError, Fault::kShort}) {
    Open(ZarrSource({kChunks * kChunkBytes}, {kChunkBytes}, {kChunks}));
    // The open, 2 chunks, and the first window pass.
    faulty_->FailAfter(4, fault);
    Sweep(Ascending());
    EXPECT_LE(Requests(), kCost + 65) << "as many chunks were in the window that failed";
  }
}

TEST_F(RemoteSweep, WhatIsPrefetchedStaysWithinTheCacheAndIsReleased) {
  Sweep(Ascending());
  EXPECT_LE(most_cached_, kCache);
  EXPECT_GE(most_cached_, 1000 * kChunkBytes);
  EXPECT_LE(decoded_->counters().bytes, kChunks * sizeof(ByteRange) + 1000) << "the layout is left";
}

TEST_F(RemoteSweep, WhereReplacedVersionsAreKeptNothingIsPrefetchedIntoMemory) {
  Open(ZarrSource({kChunks * kChunkBytes}, {kChunkBytes}, {kChunks}), false);
  Sweep(Ascending());
  EXPECT_EQ(counting_->total().reads, kChunks);
}

}  // namespace
}  // namespace unshard
