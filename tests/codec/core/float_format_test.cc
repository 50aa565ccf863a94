#include "codec/core/float_format.h"

#include <gtest/gtest.h>

#include <cmath>

namespace unshard {
namespace {

TEST(FloatFormat, EveryValueOfTwoBytesIsRoundedToItself) {
  for (const FloatFormat& format : {kFloat16, kBrainFloat16}) {
    for (std::uint64_t bits = 0; bits < 0x10000; ++bits) {
      const double value = format.ValueOf(bits);
      const std::uint64_t expected =
          std::isnan(value) ? (bits & format.sign()) | format.nan() : bits;
      ASSERT_EQ(format.Round(value), expected) << format.exponent_bits << " " << bits;
    }
  }
}

TEST(FloatFormat, TiesAreRoundedToEven) {
  struct Case {
    FloatFormat format;
    double value;
    std::uint64_t bits;
  };
  const Case cases[] = {{kFloat16, 1 + 0x1p-11, 0x3c00},
                        {kFloat16, 1 + 0x3p-11, 0x3c02},
                        {kFloat16, 65519.99, 0x7bff},
                        {kFloat16, 65520, 0x7c00},
                        {kFloat16, -65520, 0xfc00},
                        {kFloat16, 0x1p-25, 0},
                        {kFloat16, 0x1.8p-24, 2},
                        {kBrainFloat16, 1 + 0x1p-8, 0x3f80},
                        {kBrainFloat16, 1 + 0x3p-8, 0x3f82},
                        {kBrainFloat16, 0x1.ffp127, 0x7f80},
                        {kFloat32, 1 + 0x1p-24, 0x3f800000},
                        {kFloat32, 1e39, 0x7f800000},
                        {kFloat64, -0.0, 0x8000000000000000},
                        {kFloat64, 5e-324, 1}};
  for (const Case& one : cases) EXPECT_EQ(one.format.Round(one.value), one.bits) << one.value;
}

}  // namespace
}  // namespace unshard
