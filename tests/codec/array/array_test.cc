#include "codec/array/array.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

class Chunks : public testing::Test {
 protected:
  static Array ArrayOf(Dialect dialect) {
    Array array;
    array.dialect = dialect;
    array.data_type = {DataType::Kind::kUnsigned, 2};
    array.shape = {1, 100, 200, 300};
    array.chunk_shape = {1, 64, 64, 64};
    if (dialect == Dialect::kPrecomputed) array.origin = {0, -64, 0, 10};
    return array;
  }
  const std::vector<std::uint64_t> last_{0, 1, 3, 4};
};

TEST_F(Chunks, AreClippedAtTheEndExceptInZarr) {
  Array array = ArrayOf(Dialect::kPrecomputed);
  const std::vector<std::uint64_t> clipped{1, 36, 8, 44};
  EXPECT_EQ(ChunkShapeAt(array, *GridOf(array), last_), clipped);
  array = ArrayOf(Dialect::kN5);
  EXPECT_EQ(ChunkShapeAt(array, *GridOf(array), last_), clipped);
  array = ArrayOf(Dialect::kZarr3);
  EXPECT_EQ(ChunkShapeAt(array, *GridOf(array), last_), array.chunk_shape);
}

TEST_F(Chunks, WithoutAFillValueAreZeros) {
  Array array = ArrayOf(Dialect::kN5);
  EXPECT_EQ(FillValueOf(array), (ByteVector{0, 0}));
  array.fill_value = ByteVector{1, 2};
  EXPECT_EQ(FillValueOf(array), (ByteVector{1, 2}));
}

}  // namespace
}  // namespace unshard
