#include "fs/common/node_id.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "store/shard/set.h"

namespace unshard {
namespace {

constexpr std::uint64_t kLastPosition = (std::uint64_t{1} << kPositionBits) - 1;

TEST(NodeIdTest, ItHoldsWhatShardsNumberTheirGenerationsBy) {
  EXPECT_LE(ShardSetOptions().generation_count_limit, kGenerationLimit);
}

TEST(NodeIdTest, EveryFieldComesBackFromTheNumber) {
  for (const std::uint32_t ordinal : {0u, 1u, 77u, kMaxTrees - 1}) {
    for (const std::uint32_t count : {0u, 1u, 300u, kGenerationLimit - 1}) {
      for (const std::uint64_t position : {std::uint64_t{0}, std::uint64_t{12345}, kLastPosition}) {
        const GridNode node{ordinal, count, position};
        const auto id = PackGridNode(node);
        ASSERT_TRUE(id);
        EXPECT_EQ(UnpackGridNode(*id), node);
      }
    }
  }
}

TEST(NodeIdTest, AFieldThatDoesNotFitGivesNoNumber) {
  EXPECT_FALSE(PackGridNode({kMaxTrees, 0, 0}));
  EXPECT_FALSE(PackGridNode({0, kGenerationLimit, 0}));
  EXPECT_FALSE(PackGridNode({0, 0, kLastPosition + 1}));
  EXPECT_FALSE(PackGridNode({0, 0, ~std::uint64_t{0}}));
}

TEST(NodeIdTest, NumbersFromTheTableAreNoGridNodes) {
  for (const NodeId id : {NodeId{0}, kRootNode, NodeId{2}, (NodeId{1} << 63) - 1}) {
    EXPECT_FALSE(UnpackGridNode(id)) << id;
  }
}

TEST(NodeIdTest, TheInodeFollowsTreeAndPositionAndNotTheGeneration) {
  EXPECT_EQ(GridInode({3, 0, 9}), GridInode({3, 511, 9}));
  EXPECT_NE(GridInode({3, 0, 9}), GridInode({3, 0, 10}));
  EXPECT_NE(GridInode({3, 0, 9}), GridInode({4, 0, 9}));
  EXPECT_LT(GridInode({3, 0, 9}), GridInode({3, 0, 10})) << "storage order";
}

TEST(NodeIdTest, StableInodesAreNeitherReservedNorGridInodesAndSeldomMeet) {
  std::set<std::uint64_t> inodes;
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t inode = StableInode("k:mesh/" + std::to_string(i));
    EXPECT_GT(inode, kRootNode);
    EXPECT_EQ(inode >> 62, 1u);
    inodes.insert(inode);
  }
  EXPECT_EQ(inodes.size(), 10000u);
  EXPECT_EQ(StableInode("k:a"), StableInode("k:a"));
  EXPECT_NE(StableInode(""), 0u);
}

TEST(NodeIdTest, TheLastInodeIsAboveThatOfEveryGridNode) {
  const std::uint64_t most = (std::uint64_t{1} << kPositionBits) - 1;
  EXPECT_GT(LastInode("f:zarr.json"), GridInode({kMaxTrees - 1, 0, most}));
  EXPECT_NE(LastInode("f:zarr.json"), LastInode("f:a/zarr.json"));
}

}  // namespace
}  // namespace unshard
