// How chunks are cut so that what is read next of a layer of them stays in memory.
#include "codec/volume_file/sections.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace unshard {
namespace {

using Shape = std::vector<std::uint64_t>;

constexpr std::uint64_t kKibi = 1 << 10, kMebi = 1 << 20;

Shape ShapeOfSections(const VolumeGrid& grid, const std::vector<std::size_t>& order,
                      const SectionLimits& limits, bool clipped = false) {
  return ChunkSections(grid, order, clipped, limits).shape();
}

// Planes of 16 MiB in chunks that are 64 of them deep.
const VolumeGrid kPlanes{{1000, 4096, 4096}, {64, 64, 64}, 1};

TEST(ChunkSectionsTest, ALayerThatFitsIsNotCut) {
  const ChunkSections sections(kPlanes, {{0, 1, 2}}, false, {1 << 30, 0, 0});
  EXPECT_FALSE(sections.cut());
  EXPECT_EQ(sections.shape(), kPlanes.chunk);
  EXPECT_TRUE(ChunkSections(kPlanes, {{0, 1, 2}}, false, {1 << 30, 0, 1}).cut());
}

TEST(ChunkSectionsTest, OfALayerThatDoesNotFitAsManyPlanesAsFitAreKept) {
  EXPECT_EQ(ShapeOfSections(kPlanes, {0, 1, 2}, {0, 512 * kMebi, 0}), (Shape{32, 64, 64}));
  // 20 would fit: four sections in any case, and equal ones need the least.
  EXPECT_EQ(ShapeOfSections(kPlanes, {0, 1, 2}, {0, 320 * kMebi, 0}), (Shape{16, 64, 64}));
  EXPECT_EQ(ShapeOfSections(kPlanes, {0, 1, 2}, {0, 16 * kMebi, 0}), (Shape{1, 64, 64}));
  // The 4096 chunks of a layer have no room beside their voxels.
  EXPECT_EQ(ShapeOfSections(kPlanes, {0, 1, 2}, {0, 32 * kMebi, 1}), (Shape{1, 64, 64}));
}

TEST(ChunkSectionsTest, WhereNoPlaneFitsRowsOfOneAreKept) {
  EXPECT_EQ(ShapeOfSections(kPlanes, {0, 1, 2}, {0, 16 * kMebi - 1, 0}), (Shape{1, 64, 64}));
  EXPECT_EQ(ShapeOfSections(kPlanes, {0, 1, 2}, {0, 128 * kKibi, 0}), (Shape{1, 32, 64}));
  // The voxels of a row are not torn, whatever they take.
  EXPECT_EQ(ShapeOfSections(kPlanes, {0, 1, 2}, {0, 100, 0}), (Shape{1, 1, 64}));
}

TEST(ChunkSectionsTest, AxesAreThoseOfTheFile) {
  EXPECT_EQ(ShapeOfSections(kPlanes, {2, 0, 1}, {0, 128 * 4096, 0}), (Shape{64, 64, 1}));
  // A file of channels after one another: all chunks are read once for each channel.
  const VolumeGrid colours{{3, 100, 1000, 1000}, {3, 50, 100, 100}, 2};
  EXPECT_EQ(ShapeOfSections(colours, {0, 1, 2, 3}, {0, 20 * 2000000, 0}), (Shape{1, 17, 100, 100}));
  EXPECT_EQ(ShapeOfSections(colours, {0, 1, 2, 3}, {0, 100 * 2000000, 0}),
            (Shape{1, 50, 100, 100}));
}

TEST(ChunkSectionsTest, WhatIsPaddedCountsAndWhatIsClippedDoesNot) {
  const VolumeGrid uneven{{64, 100, 130}, {64, 64, 64}, 1};
  const std::uint64_t clipped = 64 * 100 * 130, padded = 64 * 128 * 192;
  EXPECT_EQ(ShapeOfSections(uneven, {0, 1, 2}, {clipped, 0, 0}, true), uneven.chunk);
  EXPECT_NE(ShapeOfSections(uneven, {0, 1, 2}, {clipped, 0, 0}, false), uneven.chunk);
  EXPECT_EQ(ShapeOfSections(uneven, {0, 1, 2}, {padded, 0, 0}, false), uneven.chunk);
  // An axis that the file leaves out may be padded as well.
  const VolumeGrid flat{{1, 64, 64}, {16, 64, 64}, 1};
  EXPECT_NE(ShapeOfSections(flat, {1, 2}, {64 * 64, 0, 0}), flat.chunk);
  EXPECT_EQ(ShapeOfSections(flat, {1, 2}, {16 * 64 * 64, 0, 0}), flat.chunk);
}

TEST(ChunkSectionsTest, SizesNear2To64AndEmptyArraysAreCut) {
  const std::uint64_t side = std::uint64_t{1} << 20;
  EXPECT_EQ(ShapeOfSections({{side, side, side}, {4, 4, 4}, 4}, {0, 1, 2}, {kMebi, kMebi, 200}),
            (Shape{1, 1, 4}));
  EXPECT_FALSE(ChunkSections({{0, 7}, {4, 4}, 1}, {{0, 1}}, false, {}).cut());
  const ChunkSections one({{}, {}, 1}, {}, true, {});
  EXPECT_FALSE(one.cut());
  EXPECT_EQ(one.NumberOf({}), 0u);
}

// Each voxel is in the section that it is said to be in, once.
TEST(ChunkSectionsTest, TheSectionsOfAChunkAreTheChunk) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    const std::size_t rank = 1 + random() % 4;
    VolumeGrid grid;
    grid.item_bytes = 1 + random() % 3;
    Shape chunk;  // one at the upper edge, that may be clipped
    for (std::size_t axis = 0; axis < rank; ++axis) {
      grid.chunk.push_back(1 + random() % 6);
      chunk.push_back(1 + random() % grid.chunk.back());
      grid.shape.push_back(grid.chunk.back() * (random() % 4) + chunk.back());
    }
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    const ChunkSections sections(grid, order, true, {0, random() % 2000, 0});

    const std::uint64_t count =
        std::accumulate(chunk.begin(), chunk.end(), std::uint64_t{1}, std::multiplies<>());
    ByteVector voxels(count * grid.item_bytes);
    for (auto& byte : voxels) byte = static_cast<std::uint8_t>(random());
    std::map<std::uint64_t, ByteVector> cut;
    std::uint64_t total = 0;
    for (std::uint64_t index = 0; index < count; ++index) {
      Shape position(rank);
      std::uint64_t rest = index;
      for (std::size_t axis = rank; axis-- > 0;) {
        position[axis] = rest % chunk[axis];
        rest /= chunk[axis];
      }
      const std::uint64_t number = sections.NumberOf(position);
      if (!cut.contains(number)) {
        cut[number] = CutSection(sections, number, chunk, grid.item_bytes, voxels);
        total += cut[number].size();
      }
      std::uint64_t at = 0;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        const auto box = sections.IntervalOf(number, axis, chunk[axis]);
        ASSERT_GE(position[axis], box.begin);
        ASSERT_LT(position[axis] - box.begin, box.extent);
        at = at * box.extent + position[axis] - box.begin;
      }
      for (std::uint64_t byte = 0; byte < grid.item_bytes; ++byte) {
        ASSERT_EQ(cut[number].at(at * grid.item_bytes + byte),
                  voxels[index * grid.item_bytes + byte]);
      }
    }
    EXPECT_EQ(total, voxels.size());
  }
}

}  // namespace
}  // namespace unshard
