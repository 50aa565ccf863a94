#include "codec/chain/voxels.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

TEST(Voxels, HaveTheBytesThatTypeAndShapeSay) {
  const auto voxels = Voxels::Make(kUint16, {2, 3}, ByteVector(12, 5));
  ASSERT_TRUE(voxels) << voxels.error().message;
  EXPECT_EQ(voxels->type(), kUint16);
  EXPECT_EQ(voxels->shape(), (Shape{2, 3}));
  EXPECT_EQ(Voxels(*voxels).TakeBytes(), ByteVector(12, 5));
  for (const std::size_t size : std::vector<std::size_t>{0, 6, 11, 13, 24}) {
    const auto other = Voxels::Make(kUint16, {2, 3}, ByteVector(size));
    ASSERT_FALSE(other) << size;
    EXPECT_EQ(other.error().code, ErrorCode::kInternal);
    EXPECT_EQ(other.error().message, "voxels: expected 12 bytes, found " + std::to_string(size));
  }
}

TEST(Voxels, OfRank0AreOneItemAndOfAnExtentOf0NoItem) {
  EXPECT_TRUE(Voxels::Make(kUint32, {}, ByteVector(4)));
  EXPECT_FALSE(Voxels::Make(kUint32, {}, {}));
  EXPECT_TRUE(Voxels::Make(kUint32, {5, 0, 7}, {}));
}

TEST(Voxels, MoreThanMemoryCanHaveAreRefused) {
  const std::uint64_t large = std::uint64_t{1} << 40;
  for (const Shape& shape : {Shape{large, 256}, Shape{large, large, large}}) {
    EXPECT_EQ(Voxels::Make(kUint8, shape, {}).error().code, ErrorCode::kResourceExhausted);
    EXPECT_EQ(Voxels::Filled(kUint8, shape, ByteVector(1)).error().code,
              ErrorCode::kResourceExhausted);
  }
}

TEST(Voxels, MayAllBeOneItem) {
  EXPECT_EQ(Voxels::Filled(kUint16, {3}, ByteVector{1, 2}),
            Voxels::Make(kUint16, {3}, {1, 2, 1, 2, 1, 2}).value());
  EXPECT_EQ(Voxels::Filled(kUint16, {2, 1}, ByteVector(2)),
            Voxels::Make(kUint16, {2, 1}, ByteVector(4)).value());
  EXPECT_EQ(Voxels::Filled(kUint16, {3}, ByteVector(1)).error().message,
            "item: expected 2 bytes, found 1");
}

}  // namespace
}  // namespace unshard
