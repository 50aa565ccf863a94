#include "codec/array/array_metadata.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

TEST(DimensionUnit, TextsAreThoseOfTensorStore) {
  EXPECT_EQ(ParseDimensionUnit("8.5 nm"), (DimensionUnit{8.5, "nm"}));
  EXPECT_EQ(ParseDimensionUnit("nm"), (DimensionUnit{1, "nm"}));
  EXPECT_EQ(ParseDimensionUnit("1"), (DimensionUnit{1, ""}));
  EXPECT_EQ(ParseDimensionUnit("4e3um"), (DimensionUnit{4000, "um"}));
  EXPECT_EQ(ParseDimensionUnit("inch"), (DimensionUnit{1, "inch"}));
  EXPECT_EQ(ParseDimensionUnit("\v+.5\fnm "), (DimensionUnit{0.5, "nm"}));
  EXPECT_EQ(ParseDimensionUnit("-4nm"), (DimensionUnit{-4, "nm"}));
  EXPECT_EQ(ParseDimensionUnit("+-4nm"), (DimensionUnit{1, "+-4nm"}));
  EXPECT_EQ(ParseDimensionUnit("1e999nm"), (DimensionUnit{1, "1e999nm"}));
  for (const char* text : {"8.5 nm", "nm", "1", "0.25 um"}) {
    EXPECT_EQ(DimensionUnitText(ParseDimensionUnit(text)), text);
  }
}

TEST(DimensionUnit, LengthsAreCountedInNanometres) {
  EXPECT_EQ(Nanometres({4, "nm"}), 4);
  EXPECT_EQ(Nanometres({0.5, "um"}), 500);
  EXPECT_EQ(Nanometres({2, "micrometer"}), 2000);
  EXPECT_EQ(Nanometres({1, "s"}), std::nullopt);
  EXPECT_EQ(Nanometres({1, ""}), std::nullopt);
}

class Chunks : public testing::Test {
 protected:
  static ArrayMetadata Array(ArrayDialect dialect) {
    ArrayMetadata array;
    array.dialect = dialect;
    array.data_type = {DataType::Kind::kUnsigned, 2};
    array.shape = {1, 100, 200, 300};
    array.chunk_shape = {1, 64, 64, 64};
    if (dialect == ArrayDialect::kPrecomputed) array.origin = {0, -64, 0, 10};
    return array;
  }
  const std::vector<std::uint64_t> last_{0, 1, 3, 4};
};

TEST_F(Chunks, AreClippedAtTheEndExceptInZarr) {
  ArrayMetadata array = Array(ArrayDialect::kPrecomputed);
  const std::vector<std::uint64_t> clipped{1, 36, 8, 44};
  EXPECT_EQ(ChunkShapeAt(array, *GridOf(array), last_), clipped);
  array = Array(ArrayDialect::kN5);
  EXPECT_EQ(ChunkShapeAt(array, *GridOf(array), last_), clipped);
  array = Array(ArrayDialect::kZarr3);
  EXPECT_EQ(ChunkShapeAt(array, *GridOf(array), last_), array.chunk_shape);
}

TEST_F(Chunks, WithoutAFillValueAreZeros) {
  ArrayMetadata array = Array(ArrayDialect::kN5);
  EXPECT_EQ(FillValueOf(array), (ByteVector{0, 0}));
  array.fill_value = ByteVector{1, 2};
  EXPECT_EQ(FillValueOf(array), (ByteVector{1, 2}));
}

}  // namespace
}  // namespace unshard
