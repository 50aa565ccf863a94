// Finding out by which rule the chunk ids of a volume were made.
#include "store/dataset/morton_probe.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "codec/grid/morton.h"
#include "store/chunks/sharded_tree.h"
#include "store/dataset/dataset_tree.h"
#include "store/object/call_failed.h"
#include "store/object/catch_exceptions.h"
#include "tests/support/memory_store.h"
#include "tests/support/shard_writer.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

// By the legacy rule each of these extents has one bit more, which shifts those of the first.
const std::vector<std::uint64_t> kGrid{8, 2, 2};

// As a bucket whose shards may be read, and not listed.
class DeniesWhatIsMissing final : public ObjectStore {
 public:
  explicit DeniesWhatIsMissing(std::shared_ptr<ObjectStore> below) : below_(std::move(below)) {}
  Capabilities capabilities() const override { return below_->capabilities(); }
  Result<std::optional<ObjectInfo>> Stat(std::string_view key, const Deadline& deadline) override {
    auto found = below_->Stat(key, deadline);
    if (found && !*found) return Denied();
    return found;
  }
  Result<Opened> Open(std::string_view key, const RangeRequest& first,
                      const Deadline& deadline) override {
    auto opened = below_->Open(key, first, deadline);
    if (opened && !opened->version && key.ends_with(".shard")) return Denied();
    return opened;
  }
  Status List(std::string_view key, const Deadline& deadline, const ListVisitor& visitor) override {
    return key.empty() ? below_->List(key, deadline, visitor) : Denied();
  }
  std::string Describe(std::string_view key) const override { return below_->Describe(key); }

 private:
  static tl::unexpected<Error> Denied() { return Fail(ErrorCode::kPermissionDenied, "denied"); }
  const std::shared_ptr<ObjectStore> below_;
};

class MortonProbeTest : public testing::Test {
 protected:
  void SetUp() override { store_->Put(source_.document_name, source_.document); }

  static std::uint64_t IdBy(MortonRule rule, const GridCell& cell) {
    return CompressedMorton::Make(kGrid, rule)->Encode(cell);
  }
  // All chunks of the grid, with the ids of this rule, in one shard.
  void PutShard(MortonRule rule) {
    std::vector<ShardChunk> chunks;
    for (std::uint64_t i = 0; i < source_.cell_count(); ++i) {
      chunks.push_back({IdBy(rule, source_.CellAt(i)), {1, 2, 3}});
    }
    const ByteVector shard = source_.encode(std::move(chunks));
    store_->Put(shard_, {reinterpret_cast<const char*>(shard.data()), shard.size()});
  }
  std::shared_ptr<ChunkTree> Open() { return OpenIn(store_); }
  std::shared_ptr<ChunkTree> OpenIn(const std::shared_ptr<ObjectStore>& store) {
    DatasetTreeOptions options;
    options.shards.ttl_milliseconds = 0;
    datasets_ = std::make_unique<DatasetTree>(
        store, nullptr, std::make_shared<IndexCache>(std::uint64_t{1} << 20), nullptr, options);
    EXPECT_TRUE(datasets_->Discover());
    return datasets_->Find("8_8_8")->trees.front();
  }
  static std::uint64_t IdOf(const ChunkTree& tree, const GridCell& cell) {
    return ShardedOf(tree).Locate(ChunkFile{cell}).slot;
  }

  const ShardedSource source_ = PrecomputedSource(kGrid, {1, 1, 1}, {});
  const std::string shard_ = source_.directory + '/' + source_.keys->Key(0);
  const std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
  std::unique_ptr<DatasetTree> datasets_;
};

const GridCell kCell{5, 1, 0};  // of which the rules differ

TEST_F(MortonProbeTest, TheRuleIsThatOfTheStoredIds) {
  for (const MortonRule rule : {MortonRule::kStandard, MortonRule::kLegacy}) {
    PutShard(rule);
    const auto tree = Open();
    for (std::uint64_t i = 0; i < source_.cell_count(); ++i) {
      EXPECT_EQ(IdOf(*tree, source_.CellAt(i)), IdBy(rule, source_.CellAt(i)));
    }
  }
}

TEST_F(MortonProbeTest, WithoutAShardItIsTheStandardRule) {
  EXPECT_EQ(IdOf(*Open(), kCell), IdBy(MortonRule::kStandard, kCell));
}

TEST_F(MortonProbeTest, WhatIsDeniedMayBeMissing) {
  const auto tree = OpenIn(std::make_shared<DeniesWhatIsMissing>(store_));
  EXPECT_EQ(IdOf(*tree, kCell), IdBy(MortonRule::kStandard, kCell));
  PutShard(MortonRule::kLegacy);
  EXPECT_EQ(IdOf(*tree, kCell), IdBy(MortonRule::kLegacy, kCell)) << "it was looked for again";
}

TEST_F(MortonProbeTest, WhereNoIdCanBeReadNoOtherChunkIsTaken) {
  store_->Put(shard_, std::string(8, '\0') + "the index ends far away");
  const auto tree = Open();
  EXPECT_EQ(IdOf(*tree, {1, 0, 0}), 1u) << "by both rules";
  EXPECT_EQ(ShardedOf(*tree).ChunksInShard(0), 0u) << "so that such a chunk can be committed";
  for (int again = 0; again < 2; ++again) {
    const auto id = CatchExceptions([&]() -> Result<std::uint64_t> { return IdOf(*tree, kCell); });
    ASSERT_FALSE(id) << *id;
    EXPECT_EQ(id.error().code, ErrorCode::kDataLoss);
    EXPECT_NE(id.error().message.find("which morton= can set"), std::string::npos)
        << id.error().message;
    EXPECT_THROW((void)tree->FileOf({{0, 0, IdBy(MortonRule::kLegacy, kCell)}, ChunkPart::kPlain}),
                 CallFailed);
  }
  PutShard(MortonRule::kLegacy);
  EXPECT_EQ(IdOf(*tree, kCell), IdBy(MortonRule::kLegacy, kCell));
}

}  // namespace
}  // namespace unshard
