#include "codec/types/data_type.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

TEST(DataType, EveryVoxelHasItsNamesInZarrV3AndNumPy) {
  for (const std::string_view name : AllDataTypeNames(DataTypeDialect::kZarr)) {
    const auto type = FindDataType(DataTypeDialect::kZarr, name);
    if (!type) continue;  // a time
    EXPECT_EQ(DataTypeName(*type), name);
    for (const bool big_endian : {false, true}) {
      const std::string text = NumpyTypeName({*type, big_endian});
      const auto parsed = ParseNumpyType(text);
      ASSERT_TRUE(parsed) << text;
      EXPECT_EQ(parsed->type, *type) << text;
      EXPECT_EQ(parsed->big_endian, text.starts_with('>')) << text;
    }
  }
}

TEST(DataType, VolumesAreCreatedOnlyInTypesThatVolumesHave) {
  for (const std::string_view name : AllDataTypeNames(DataTypeDialect::kNewVolume)) {
    EXPECT_TRUE(FindDataType(DataTypeDialect::kPrecomputedVolume, name)) << name;
  }
}

TEST(DataType, ByteOrderOfNumPy) {
  struct Case {
    const char* text;
    std::string_view name;  // empty: no voxels
    bool big_endian;
  };
  const Case cases[] = {{"u2", "uint16", false},
                        {"=u2", "uint16", false},
                        {">u1", "uint8", false},
                        {"|u2", "", false},
                        {">bfloat16", "", false},
                        {"float16", "", false},
                        {"int4", "", false},
                        {"<M8[ns]", "", false},
                        {"|S4", "", false},
                        {"|O", "", false},
                        {"<u02", "", false},
                        {"|V0", "", false},
                        {"|V1048576", "r8388608", false},
                        {"|V1048577", "", false}};
  for (const Case& one : cases) {
    const auto type = ParseNumpyType(one.text);
    EXPECT_EQ(type ? DataTypeName(type->type) : "", one.name) << one.text;
    EXPECT_EQ(type && type->big_endian, one.big_endian) << one.text;
  }
}

}  // namespace
}  // namespace unshard
