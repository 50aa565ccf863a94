#include "codec/precomputed/mesh_manifest.h"

#include <gtest/gtest.h>

#include <vector>

namespace unshard {
namespace {

// A manifest with these fragment sizes per level.
ByteVector Manifest(const std::vector<std::vector<std::uint32_t>>& levels) {
  ByteVector manifest(24, 0x3f);
  AppendU32Le(manifest, static_cast<std::uint32_t>(levels.size()));
  manifest.resize(manifest.size() + 16 * levels.size(), 0x3f);
  for (const auto& sizes : levels) AppendU32Le(manifest, static_cast<std::uint32_t>(sizes.size()));
  for (const auto& sizes : levels) {
    manifest.resize(manifest.size() + 12 * sizes.size(), 0x77);  // x, y, z
    for (const std::uint32_t size : sizes) AppendU32Le(manifest, size);
  }
  return manifest;
}

TEST(MeshManifest, FragmentSizesOfAllLevelsAreSummed) {
  EXPECT_EQ(MeshFragmentBytes(Manifest({{10, 20, 30}, {5}})), 65U);
  EXPECT_EQ(MeshFragmentBytes(Manifest({{0, 0}, {}, {7}})), 7U);
  EXPECT_EQ(MeshFragmentBytes(Manifest({{}})), 0U);
  EXPECT_EQ(MeshFragmentBytes(Manifest({})), 0U);
}

TEST(MeshManifest, SumMayExceedThirtyTwoBits) {
  EXPECT_EQ(MeshFragmentBytes(Manifest({{0xFFFFFFFF, 0xFFFFFFFF}, {2}})), 0x200000000U);
}

TEST(MeshManifest, AnyOtherLengthIsDataLoss) {
  const ByteVector good = Manifest({{10, 20, 30}, {5}});
  ByteVector longer = good;
  longer.push_back(0);
  EXPECT_FALSE(MeshFragmentBytes(longer));
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto total = MeshFragmentBytes(ByteSpan(good).first(size));
    ASSERT_FALSE(total) << size;
    EXPECT_EQ(total.error().code, ErrorCode::kDataLoss);
  }
}

TEST(MeshManifest, HugeCountsAreRefused) {
  ByteVector levels = Manifest({{1}});
  StoreU32Le(levels.data() + 24, 0xFFFFFFFF);
  EXPECT_FALSE(MeshFragmentBytes(levels));
  ByteVector fragments = Manifest({{1}, {2}});
  StoreU32Le(fragments.data() + 28 + 32, 0xFFFFFFFF);
  const auto total = MeshFragmentBytes(fragments);
  ASSERT_FALSE(total);
  EXPECT_EQ(total.error().message,
            "mesh manifest: expected 68719476788 bytes for the fragments of level 0, found 100");
}

}  // namespace
}  // namespace unshard
