// What a chunk costs: opens of shards, reads of indexes, reads of data.
#include <gtest/gtest.h>

#include "tests/support/mounted_volume.h"

namespace unshard {
namespace {

class BudgetTest : public MountedVolume {
 protected:
  // Finding out which Morton rule the ids follow costs reads at the mount, once.
  BudgetTest() { options_.morton = MortonChoice::kStandard; }
  struct Cost {
    std::uint64_t opens = 0;
    std::uint64_t index_reads = 0;
    std::uint64_t data_reads = 0;
    friend bool operator==(const Cost&, const Cost&) = default;
    friend void PrintTo(const Cost& cost, std::ostream* to) {
      *to << cost.opens << " opens, " << cost.index_reads << " index reads, " << cost.data_reads
          << " data reads";
    }
  };
  // Reads of metadata and look-ups of names do not count, nothing else is left out.
  Cost CostOf(const std::string& path, const std::string& expected) {
    store_->Reset();
    ShardSetCounters before = Counters();
    const std::uint64_t data = fs_->superblock().parts.reads->data_reads;
    EXPECT_EQ(Text(path), expected) << path;
    const ShardSetCounters after = Counters();
    const AccessCounts total = store_->total();
    const Cost cost{total.opens, after.index_reads - before.index_reads,
                    fs_->superblock().parts.reads->data_reads - data};
    EXPECT_EQ(total.reads + total.slices, cost.index_reads + cost.data_reads)
        << "no read that is not accounted for";
    return cost;
  }
  [[nodiscard]] ShardSetCounters Counters() const {
    ShardSetCounters sum;
    for (const auto& tree : fs_->superblock().parts.datasets->trees()) {
      sum.index_reads += tree->chunks().counters().index_reads;
      sum.opens += tree->chunks().counters().opens;
    }
    return sum;
  }
};

// Opening a shard brings its own index.
TEST_F(BudgetTest, APrecomputedChunkCostsAnOpenAnIndexReadAndADataReadCold) {
  const ShardingSpec spec;
  Write("v", PrecomputedSource({16, 4, 4}, {4, 4, 4}, spec), {{0, "a"}, {1, "b"}});
  Mount();
  const std::string scale = "v/8_8_8/";
  EXPECT_EQ(CostOf(scale + "0-4_0-4_0-4", "a"), (Cost{1, 1, 1}));
  EXPECT_EQ(CostOf(scale + "4-8_0-4_0-4", "b"), (Cost{0, 0, 1})) << "warm";
  EXPECT_EQ(CostOf(scale + "8-12_0-4_0-4", "ENOENT"), (Cost{0, 0, 0})) << "an empty chunk, warm";
}

TEST_F(BudgetTest, AGzipChunkIsReadOnceForItsSizeAndItsBytes) {
  ShardingSpec spec;
  spec.data_encoding = ShardEncoding::kGzip;
  spec.minishard_index_encoding = ShardEncoding::kGzip;
  Write("v", PrecomputedSource({16, 4, 4}, {4, 4, 4}, spec), {{0, "a"}, {1, "bcde"}});
  Mount();
  const std::string scale = "v/8_8_8/";
  EXPECT_EQ(CostOf(scale + "0-4_0-4_0-4", "a"), (Cost{1, 1, 1}));
  const auto entry = Find(scale + "4-8_0-4_0-4");
  ASSERT_TRUE(entry);
  EXPECT_EQ(*ReadAt(entry->node, 0, 2) + *ReadAt(entry->node, 2, 2), "bcde");
  EXPECT_EQ(fs_->superblock().parts.reads->data_reads, 2u)
      << "one a chunk, in however many pieces it is read";
  EXPECT_EQ(fs_->superblock().parts.reads->chunks_decoded, 2u);
}

TEST_F(BudgetTest, AZarrChunkCostsAnOpenAndADataReadCold) {
  Write("a", ZarrSource({8, 8}, {1, 1}, {4, 4}), {{0, "x"}, {1, "y"}});
  Mount();
  EXPECT_EQ(CostOf("a/c/0/0", "x"), (Cost{1, 0, 1}));
  EXPECT_EQ(CostOf("a/c/0/1", "y"), (Cost{0, 0, 1})) << "warm";
  EXPECT_EQ(CostOf("a/c/0/2", "ENOENT"), (Cost{0, 0, 0}));
}

TEST_F(BudgetTest, AChunkOfANestedShardCostsOneIndexReadForEachInnerLevel) {
  const std::string index =
      R"("index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],)"
      R"("index_location":"end"}}])";
  source_.Write("a/zarr.json",
                R"({"zarr_format":3,"node_type":"array","shape":[16],"data_type":"uint8",)"
                R"("fill_value":0,"chunk_grid":{"name":"regular","configuration":)"
                R"({"chunk_shape":[8]}},"chunk_key_encoding":{"name":"default"},)"
                R"("codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[4],)"
                R"("codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[1],)"
                R"("codecs":[{"name":"bytes"}],)" +
                    index + "," + index + "}");
  const ByteVector inner = EncodeZarrShard(4, {{0, {'p'}}, {3, {'q'}}});
  source_.Write("a/c/0", AsText(EncodeZarrShard(2, {{1, inner}})));
  Mount();
  EXPECT_EQ(CostOf("a/c/4", "p"), (Cost{1, 1, 1}));
  EXPECT_EQ(CostOf("a/c/7", "q"), (Cost{0, 0, 1})) << "warm";
}

TEST_F(BudgetTest, ANameOutsideTheGrammarOfAKnownDirectoryReadsNothing) {
  Write("v", PrecomputedSource({16, 4, 4}, {4, 4, 4}, {}), {{0, "a"}});
  Write("a", ZarrSource({8, 8}, {1, 1}, {4, 4}), {{0, "x"}});
  Mount();
  for (const char* path : {"v/8_8_8/16-20_0-4_0-4", "v/8_8_8/0-4_0-4_0-5", "v/8_8_8/0-4_0-4_0-4.gz",
                           "a/c/0/8", "a/c/9"}) {
    EXPECT_EQ(CostOf(path, "ENOENT"), (Cost{0, 0, 0})) << path;
  }
}

TEST_F(BudgetTest, AMissingShardIsAskedForOnce) {
  ShardingSpec spec;
  spec.preshift_bits = 1;
  spec.shard_bits = 1;
  Write("v", PrecomputedSource({16, 4, 4}, {4, 4, 4}, spec), {{0, "a"}});
  Mount();
  EXPECT_EQ(CostOf("v/8_8_8/8-12_0-4_0-4", "ENOENT").index_reads, 0u);
  EXPECT_EQ(CostOf("v/8_8_8/12-16_0-4_0-4", "ENOENT"), (Cost{0, 0, 0})) << "known to be missing";
}

TEST_F(BudgetTest, AListingBeginsWithFewAttributesUntilAChunkIsLookedUp) {
  constexpr int kChunks = 64;
  constexpr int kFew = AttributeDemand::kFewChunks;
  std::map<std::uint64_t, std::string> chunks;
  for (std::uint64_t i = 0; i < kChunks; ++i) chunks[i] = "a";
  Write("v", PrecomputedSource({16, 16, 16}, {4, 4, 4}, {}), chunks);
  Mount();
  const auto scale = Find("v/8_8_8");
  ASSERT_TRUE(scale);
  int listed = 0;
  std::uint64_t next = 0;
  const auto read = [&](std::uint64_t cookie) {
    listed = 0;
    EXPECT_TRUE(fs_->ReadDirectory(scale->node, cookie, true, [&](const DirectoryName& name) {
      next = name.next_cookie;
      EXPECT_TRUE(name.directory || name.entry) << name.name;
      if (!name.directory) ++listed;
      return true;
    }));
  };
  read(0);
  EXPECT_EQ(listed, kFew);
  read(next);
  EXPECT_EQ(listed, kChunks - kFew) << "the kernel wants the attributes of the others";
  ASSERT_TRUE(Find("v/8_8_8/0-4_0-4_0-4"));
  read(0);
  EXPECT_EQ(listed, kChunks);
}

TEST_F(BudgetTest, AListingReadsEachIndexOnceAndNoData) {
  ShardingSpec spec;
  spec.preshift_bits = 1;
  spec.shard_bits = 1;
  spec.data_encoding = ShardEncoding::kGzip;
  Write("v", PrecomputedSource({16, 4, 4}, {4, 4, 4}, spec), {{0, "a"}, {1, "b"}, {3, "c"}});
  Mount();
  EXPECT_EQ(Names("v/8_8_8", 1).size(), 3u);
  EXPECT_EQ(Counters().opens, 2u);
  EXPECT_EQ(Counters().index_reads, 2u);
  EXPECT_EQ(fs_->superblock().parts.reads->data_reads, 0u);
}

}  // namespace
}  // namespace unshard
