// Axes of other formats: views rule 3 and 11.
#include "codec/pyramid/axis_map.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

using Kind = PyramidAxis::Kind;

std::vector<PyramidAxis> Named(std::initializer_list<const char*> names) {
  std::vector<PyramidAxis> axes;
  for (const char* name : names) axes.push_back(AxisNamed(name));
  return axes;
}

Result<AxisMap> ToVolume(const std::vector<PyramidAxis>& axes, std::vector<std::uint64_t> shape) {
  return MapAxes(axes, shape, Dialect::kZarr3, Dialect::kPrecomputed);
}

constexpr auto kNone = std::nullopt;

TEST(AxisMap, NamesDecideTheAxesOfAPrecomputedVolume) {
  EXPECT_EQ(*ToVolume(Named({"z", "y", "x"}), {3, 4, 5}), (AxisMap{kNone, 0, 1, 2}));
  EXPECT_EQ(*ToVolume(Named({"x", "y", "z"}), {3, 4, 5}), (AxisMap{kNone, 2, 1, 0}));
  EXPECT_EQ(*ToVolume(Named({"Z", "Y", "X", "channel"}), {3, 4, 5, 2}), (AxisMap{3, 0, 1, 2}));
}

TEST(AxisMap, WithoutNamesTheLastThreeAreZYXAndOneMoreInFrontTheChannel) {
  EXPECT_EQ(*ToVolume(Named({"", "", ""}), {3, 4, 5}), (AxisMap{kNone, 0, 1, 2}));
  EXPECT_EQ(*ToVolume(Named({"dim_0", "dim_1", "dim_2", "dim_3"}), {2, 3, 4, 5}),
            (AxisMap{0, 1, 2, 3}));
}

TEST(AxisMap, AMissingZIsAdded) {
  EXPECT_EQ(*ToVolume(Named({"", ""}), {4, 5}), (AxisMap{kNone, kNone, 0, 1}));
  EXPECT_EQ(*ToVolume(Named({"y", "x"}), {4, 5}), (AxisMap{kNone, kNone, 0, 1}));
}

TEST(AxisMap, AnotherAxisIsRefusedByItsNameUnlessItsExtentIsOne) {
  const auto refused = ToVolume(Named({"t", "z", "y", "x"}), {2, 3, 4, 5});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
  EXPECT_NE(refused.error().message.find("the axis t of extent 2"), std::string::npos);
  EXPECT_EQ(*ToVolume(Named({"t", "c", "z", "y", "x"}), {1, 2, 3, 4, 5}), (AxisMap{1, 2, 3, 4}));
  EXPECT_FALSE(ToVolume(Named({""}), {5}));
}

TEST(AxisMap, OneChannelOfAPrecomputedVolumeIsDroppedElsewhere) {
  const auto axes = Named({"c", "z", "y", "x"});
  const std::vector<std::uint64_t> one{1, 3, 4, 5}, two{2, 3, 4, 5};
  EXPECT_EQ(*MapAxes(axes, one, Dialect::kPrecomputed, Dialect::kN5), (AxisMap{1, 2, 3}));
  EXPECT_EQ(*MapAxes(axes, two, Dialect::kPrecomputed, Dialect::kZarr3), (AxisMap{0, 1, 2, 3}));
}

TEST(AxisMap, VoxelsAreRearrangedCutAndFilled) {
  // 2 × 3 items of two bytes, whose value is their index.
  const Voxels voxels = Voxels::Make(kUint16, {2, 3}, {0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0}).value();
  const AxisMap turned{1, kNone, 0};
  EXPECT_FALSE(KeepsOrder(turned));
  EXPECT_EQ(InverseMap(turned, 2), (AxisMap{2, 0}));
  const ByteVector fill{9, 1};
  Voxels copied = Voxels::Filled(kUint16, {2, 1, 3}, fill).value();
  CopyBox(voxels, turned, {{0, 0}, {0, 0, 0}, {2, 1, 2}}, copied);
  EXPECT_EQ(copied, Voxels::Make(kUint16, {2, 1, 3}, {0, 0, 3, 0, 9, 1, 1, 0, 4, 0, 9, 1}).value());
}

}  // namespace
}  // namespace unshard
