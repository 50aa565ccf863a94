// Numbers in both byte orders, and copies of boxes.
#include "codec/core/bytes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codec/core/strided_copy.h"

namespace unshard {
namespace {

TEST(ByteOrder, LoadsWhatItStores) {
  const ByteVector bytes = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(LoadLe(bytes.data(), 3), 0x030201U);
  EXPECT_EQ(LoadLe<std::uint16_t>(bytes.data() + 1), 0x0302U);
  EXPECT_EQ(LoadU32Le(bytes.data()), 0x04030201U);
  EXPECT_EQ(LoadU64Le(bytes.data()), 0x0807060504030201U);
  EXPECT_EQ(LoadU16Be(bytes.data()), 0x0102U);
  EXPECT_EQ(LoadU32Be(bytes.data()), 0x01020304U);
  ByteVector stored(2);
  StoreLe(stored.data(), std::int16_t{-2});
  AppendLe(stored, 0x030201, 3);
  AppendU16Be(stored, 0x0102);
  AppendU32Be(stored, 0x01020304);
  EXPECT_EQ(stored, (ByteVector{0xfe, 0xff, 1, 2, 3, 1, 2, 1, 2, 3, 4}));
}

// A box of 2 x 2 of `from`, an array of 3 x 4, at (1, 1), into an array of 2 x 2.
std::string CopiedBox(bool transposes, std::string_view from, std::uint64_t item) {
  const auto strides = StridesOf(std::vector<std::uint64_t>{3, 4}, item);
  const auto to_strides = StridesOf(std::vector<std::uint64_t>{2, 2}, item);
  ByteVector to(4 * item);
  const std::vector<StridedAxis> axes = {{2, strides[transposes ? 1 : 0], to_strides[0]},
                                         {2, strides[transposes ? 0 : 1], to_strides[1]}};
  CopyStrided(AsBytes(from).data() + strides[0] + strides[1], to.data(), axes, item);
  return std::string(AsText(to));
}

TEST(CopyStrided, CopiesABox) {
  EXPECT_EQ(CopiedBox(false, "abcdefghijkl", 1), "fgjk");
  EXPECT_EQ(CopiedBox(true, "abcdefghijkl", 1), "fjgk");
  EXPECT_EQ(CopiedBox(true, "aabbccddeeffgghhiijjkkll", 2), "ffjjggkk");
}

TEST(CopyStrided, CopiesOneItemAndNone) {
  ByteVector to(2);
  const ByteSpan from = AsBytes("ab");
  CopyStrided(from.data(), to.data(), {}, 2);
  EXPECT_EQ(AsText(to), "ab");
  CopyStrided(nullptr, nullptr, std::vector<StridedAxis>{{3, 0, 0}, {0, 1, 1}}, 1);
}

}  // namespace
}  // namespace unshard
