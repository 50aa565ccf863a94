// Shard sets over files in the two real formats.
#include <gtest/gtest.h>

#include "codec/precomputed/shard.h"
#include "codec/zarr3/document.h"
#include "store/local/file_store.h"
#include "store/local/inotify_watcher.h"
#include "store/shard/set.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/shard_writer.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

class NeuroglancerKeys final : public ShardKeys {
 public:
  explicit NeuroglancerKeys(const ShardingSpec& spec) : spec_(spec) {}
  std::string Key(std::uint64_t shard) const override { return ShardFileName(spec_, shard); }
  std::optional<std::uint64_t> Parse(std::string_view key) const override {
    return ParseShardFileName(spec_, key);
  }

 private:
  const ShardingSpec spec_;
};

ByteVector Filled(std::uint64_t slot) {
  return ByteVector(static_cast<std::size_t>(slot % 50 + 1), static_cast<std::uint8_t>(slot));
}

// A one-dimensional array with shards of these many chunks of one element.
std::string ZarrDocument(std::uint64_t chunks_per_shard, const std::string& location) {
  const std::string shard = std::to_string(chunks_per_shard);
  return R"({"zarr_format":3,"node_type":"array","shape":[1000000],"data_type":"uint8",
    "fill_value":0,"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[)" +
         shard + R"(]}},"chunk_key_encoding":{"name":"default"},"codecs":[{"name":
    "sharding_indexed","configuration":{"chunk_shape":[1],"codecs":[{"name":"bytes"}],
    "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],
    "index_location":")" +
         location + R"("}}]})";
}

// What requests cost is counted at a store that behaves as one over a network, and at files.
class RealShardsTest : public testing::TestWithParam<bool> {
 protected:
  void Put(const std::string& key, const ByteVector& bytes) {
    directory_.Replace(key, AsText(bytes));
    memory_->Put(key, AsText(bytes));
  }
  void Open(const std::string& directory, std::shared_ptr<const ShardFormat> format,
            std::shared_ptr<const ShardKeys> keys, std::uint64_t cache_bytes = 1 << 20) {
    std::shared_ptr<ObjectStore> below = memory_;
    if (!GetParam()) below = OpenFileStore(directory_.path(), 8).value_or(nullptr);
    ASSERT_TRUE(below);
    store_ = std::make_shared<CountingStore>(below);
    set_ = std::make_unique<ShardSet>(store_, directory, std::move(format), std::move(keys),
                                      MakeNullWatcher(), std::make_shared<IndexCache>(cache_bytes),
                                      options_);
  }
  void OpenZarr(std::uint64_t chunks_per_shard, const std::string& location) {
    const auto node = ParseZarrMetadata(ZarrDocument(chunks_per_shard, location));
    ASSERT_TRUE(node) << node.error().message;
    ASSERT_TRUE(node->sharded);
    Open("array", node->sharded->format, node->sharded->keys);
  }
  void OpenPrecomputed(const ShardingSpec& spec, std::uint64_t cache_bytes = 1 << 20) {
    Open("scale", MakeNeuroglancerShardFormat(spec), std::make_shared<NeuroglancerKeys>(spec),
         cache_bytes);
  }
  void PutPrecomputed(const ShardingSpec& spec, std::uint64_t ids) {
    std::vector<ShardChunk> chunks;
    for (std::uint64_t id = 0; id < ids; ++id) chunks.push_back({id, Filled(id)});
    Put("scale/" + ShardFileName(spec, 0), EncodeNeuroglancerShard(spec, std::move(chunks)));
  }
  // What a read of a chunk costs; all of it is one after the other.
  std::uint64_t RequestsOf(const ShardSlot& slot, const ByteVector& expected) {
    store_->Reset();
    const auto read = Read(slot);
    EXPECT_TRUE(read) << read.error().message;
    EXPECT_EQ(read.value_or(ByteVector()), expected);
    EXPECT_EQ(store_->total().stats, 0u);
    EXPECT_EQ(store_->total().lists, 0u);
    return store_->total().requests();
  }
  Result<ByteVector> Read(const ShardSlot& slot) {
    UNSHARD_ASSIGN_OR_RETURN(const auto generation, set_->Current(slot.shard, Deadline::None()));
    UNSHARD_ASSIGN_OR_RETURN(const auto page, set_->Page(generation, slot.page, Deadline::None()));
    const auto range = page->Find(slot.slot);
    if (!range) return ByteVector();
    UNSHARD_ASSIGN_OR_RETURN(const Bytes stored,
                             set_->ReadStored(generation, *range, Deadline::None()));
    UNSHARD_ASSIGN_OR_RETURN(const Bytes plain, set_->format().DecodeEntry(stored, 1 << 20));
    return ByteVector(plain.span().begin(), plain.span().end());
  }

  static Capabilities Remote() {
    Capabilities capabilities;
    capabilities.keeps_replaced_versions = false;
    return capabilities;
  }

  TemporaryDirectory directory_;
  std::shared_ptr<MemoryStore> memory_ = std::make_shared<MemoryStore>(Remote());
  ShardSetOptions options_;
  std::shared_ptr<CountingStore> store_;
  std::unique_ptr<ShardSet> set_;
};

INSTANTIATE_TEST_SUITE_P(Stores, RealShardsTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "Remote" : "Files"; });

TEST_P(RealShardsTest, APrecomputedChunkCostsThreeRequestsColdAndOneWarm) {
  options_.ttl_milliseconds = 3600 * 1000;
  for (const ShardEncoding encoding : {ShardEncoding::kRaw, ShardEncoding::kGzip}) {
    ShardingSpec spec;
    spec.hash = ChunkIdHash::kMurmurHash3X86_128;
    spec.minishard_bits = 3;
    spec.minishard_index_encoding = encoding;
    spec.data_encoding = encoding;
    PutPrecomputed(spec, 40);
    OpenPrecomputed(spec);
    EXPECT_EQ(RequestsOf(LocateChunkId(spec, 3), Filled(3)), 3u);
    EXPECT_EQ(RequestsOf(LocateChunkId(spec, 3), Filled(3)), 1u);
    std::uint64_t requests = 0;
    for (std::uint64_t id = 0; id < 40; ++id) {
      requests += RequestsOf(LocateChunkId(spec, id), Filled(id));
    }
    EXPECT_EQ(requests, 40u + 7u) << "the index of each other minishard once";
    EXPECT_EQ(RequestsOf(LocateChunkId(spec, 40), {}), 0u) << "that it is empty is known";
  }
}

TEST_P(RealShardsTest, AZarrChunkCostsTwoRequestsColdAndOneWarm) {
  options_.ttl_milliseconds = 3600 * 1000;
  for (const std::uint64_t chunks : {4u, 4096u, 32768u}) {
    Put("array/c/1", EncodeZarrShard(chunks, {{0, {1}}, {3, {7}}}));
    OpenZarr(chunks, "end");
    EXPECT_EQ(RequestsOf({1, 0, 3}, {7}), 2u) << chunks;
    EXPECT_EQ(RequestsOf({1, 0, 0}, {1}), 1u);
    EXPECT_EQ(RequestsOf({1, 0, 1}, {}), 0u);
    EXPECT_EQ(RequestsOf({0, 0, 0}, {}), 1u) << "a missing shard";
    EXPECT_EQ(RequestsOf({0, 0, 1}, {}), 0u);
  }
}

TEST_P(RealShardsTest, AZarrIndexAboveTheOpeningRangeCostsARequestMore) {
  Put("array/c/1", EncodeZarrShard(131072, {{0, {1}}, {131071, {7}}}));
  OpenZarr(131072, "end");
  EXPECT_EQ(RequestsOf({1, 0, 131071}, {7}), 3u);
}

TEST_P(RealShardsTest, APrecomputedIndexAboveTheOpeningRangeIsReadInPieces) {
  ShardingSpec spec;
  spec.minishard_bits = 14;  // 256 KiB
  PutPrecomputed(spec, std::uint64_t{1} << 14);
  OpenPrecomputed(spec);
  EXPECT_EQ(RequestsOf(LocateChunkId(spec, 0), Filled(0)), 3u);
  const std::uint64_t beyond = kMaxOpeningBytes / 16 + 100;
  EXPECT_EQ(RequestsOf(LocateChunkId(spec, beyond), Filled(beyond)), 3u);
  EXPECT_EQ(RequestsOf(LocateChunkId(spec, beyond + 1), Filled(beyond + 1)), 2u);
}

TEST_P(RealShardsTest, AnIndexThatTheCacheHasEvictedIsReadAgain) {
  ShardingSpec spec;
  spec.minishard_bits = 3;
  PutPrecomputed(spec, 40);
  OpenPrecomputed(spec, /*cache_bytes=*/0);
  EXPECT_EQ(RequestsOf(LocateChunkId(spec, 3), Filled(3)), 4u);
  EXPECT_EQ(RequestsOf(LocateChunkId(spec, 4), Filled(4)), 3u);
}

TEST_P(RealShardsTest, AReadThatSucceedsValidatesAShardThatIsGoneOnceReplaced) {
  auto now = std::chrono::steady_clock::now();
  options_.ttl_milliseconds = 1000;
  options_.clock = [&] { return now; };
  Put("array/c/1", EncodeZarrShard(4, {{0, {1}}, {3, {7}}}));
  OpenZarr(4, "end");
  const auto generation = set_->Current(1, Deadline::None());
  ASSERT_TRUE(generation);
  const auto chunk = (*set_->Page(*generation, 0, Deadline::None()))->Find(3);
  ASSERT_TRUE(chunk);
  const auto opens = [&](std::chrono::milliseconds later) {
    now += later;
    store_->Reset();
    EXPECT_TRUE(set_->Current(1, Deadline::None()));
    return store_->total().opens;
  };
  EXPECT_EQ(opens(std::chrono::milliseconds(1001)), 1u);
  now += std::chrono::milliseconds(900);
  ASSERT_TRUE(set_->ReadStored(*generation, *chunk, Deadline::None()));
  // A version that is kept says nothing about what stands there now.
  EXPECT_EQ(opens(std::chrono::milliseconds(900)), GetParam() ? 0u : 1u);
  EXPECT_EQ(opens(std::chrono::milliseconds(1001)), 1u);
  Put("array/c/1", EncodeZarrShard(4, {{3, {8}}}));
  if (!GetParam()) return;
  const auto conflict = set_->ReadStored(*generation, *chunk, Deadline::None());
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().code, ErrorCode::kConflict);
  EXPECT_EQ(RequestsOf({1, 0, 3}, {8}), 2u) << "as cold";
}

}  // namespace
}  // namespace unshard
