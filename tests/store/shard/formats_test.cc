// Shard sets over files in the two real formats.
#include <gtest/gtest.h>

#include "codec/precomputed/shard.h"
#include "codec/zarr3/metadata.h"
#include "store/local/file_store.h"
#include "store/shard/set.h"
#include "tests/support/counting_store.h"
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

class RealShardsTest : public testing::Test {
 protected:
  void Open(const std::string& directory, std::shared_ptr<const ShardFormat> format,
            std::shared_ptr<const ShardKeys> keys) {
    auto files = OpenFileStore(directory_.path(), 8);
    ASSERT_TRUE(files);
    store_ = std::make_shared<CountingStore>(*files);
    set_ = std::make_unique<ShardSet>(store_, directory, std::move(format), std::move(keys),
                                      MakeNullWatcher(), std::make_shared<IndexCache>(1 << 20),
                                      ShardSetOptions{});
  }
  Result<ByteVector> Read(const ShardSlot& slot) {
    UNSHARD_ASSIGN_OR_RETURN(const auto generation, set_->Current(slot.shard));
    UNSHARD_ASSIGN_OR_RETURN(const auto page, set_->Page(generation, slot.page));
    const auto range = page->Find(slot.slot);
    if (!range) return ByteVector();
    UNSHARD_ASSIGN_OR_RETURN(const Bytes stored, set_->ReadStored(generation, *range));
    UNSHARD_ASSIGN_OR_RETURN(const Bytes plain, set_->format().DecodeEntry(stored, 1 << 20));
    return ByteVector(plain.span().begin(), plain.span().end());
  }

  TemporaryDirectory directory_;
  std::shared_ptr<CountingStore> store_;
  std::unique_ptr<ShardSet> set_;
};

TEST_F(RealShardsTest, APrecomputedShardCostsTwoIndexReadsColdAndOneReadWarm) {
  for (const ShardEncoding encoding : {ShardEncoding::kRaw, ShardEncoding::kGzip}) {
    ShardingSpec spec;
    spec.hash = ChunkIdHash::kMurmurHash3X86_128;
    spec.minishard_bits = 1;
    spec.minishard_index_encoding = encoding;
    spec.data_encoding = encoding;
    std::vector<ShardChunk> chunks;
    for (std::uint64_t id = 0; id < 20; ++id) chunks.push_back({id, Filled(id)});
    const ByteVector shard = EncodeNeuroglancerShard(spec, std::move(chunks));
    directory_.Replace("scale/" + ShardFileName(spec, 0), AsText(shard));
    Open("scale", MakeNeuroglancerShardFormat(spec), std::make_shared<NeuroglancerKeys>(spec));
    const auto first = Read(LocateChunkId(spec, 3));
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(*first, Filled(3));
    EXPECT_EQ(store_->total().opens, 1u);
    EXPECT_EQ(store_->total().reads, 2u + 1u);
    store_->Reset();
    EXPECT_EQ(*Read(LocateChunkId(spec, 3)), Filled(3));
    EXPECT_EQ(store_->total().opens, 0u);
    EXPECT_EQ(store_->total().reads, 1u);
    for (std::uint64_t id = 0; id < 20; ++id) EXPECT_EQ(*Read(LocateChunkId(spec, id)), Filled(id));
    EXPECT_TRUE(Read(LocateChunkId(spec, 20))->empty());
  }
}

TEST_F(RealShardsTest, AZarrShardCostsOneIndexReadColdAndOneReadWarm) {
  const auto node = ParseZarrMetadata(R"({"zarr_format":3,"node_type":"array","shape":[16],
    "data_type":"uint8","fill_value":0,"chunk_grid":{"name":"regular","configuration":
    {"chunk_shape":[8]}},"chunk_key_encoding":{"name":"default"},"codecs":[{"name":
    "sharding_indexed","configuration":{"chunk_shape":[2],"codecs":[{"name":"bytes"}],
    "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],
    "index_location":"end"}}]})");
  ASSERT_TRUE(node) << node.error().message;
  ASSERT_TRUE(node->sharded);
  const ByteVector shard = EncodeZarrShard(4, {{0, {1, 2}}, {3, {7, 8}}});
  directory_.Replace("array/c/1", AsText(shard));
  Open("array", node->sharded->format, node->sharded->keys);
  const auto first = Read({1, 0, 3});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(*first, (ByteVector{7, 8}));
  EXPECT_EQ(store_->total().opens, 1u);
  EXPECT_EQ(store_->total().reads, 1u + 1u);
  EXPECT_EQ(*Read({1, 0, 0}), (ByteVector{1, 2}));
  EXPECT_EQ(store_->total().reads, 1u + 2u);
  EXPECT_TRUE(Read({1, 0, 1})->empty());
  EXPECT_TRUE(Read({0, 0, 0})->empty()) << "a missing shard";
}

}  // namespace
}  // namespace unshard
