// N5 pyramids: views rule 6.
#include "codec/pyramid/n5_pyramid.h"

#include <gtest/gtest.h>

#include "codec/json/parser.h"
#include "tests/support/compact_json.h"

namespace unshard {
namespace {

// Two levels with two axes; z is the slower one.
std::vector<PyramidLevel> Levels(const std::string& first, const std::string& second) {
  std::vector<PyramidLevel> levels(2);
  const std::string* texts[] = {&first, &second};
  for (std::size_t i = 0; i < 2; ++i) {
    levels[i].path = "s" + std::to_string(i);
    levels[i].array.dialect = Dialect::kN5;
    levels[i].array.shape = {10, 10};
    levels[i].array.axis_names = {"z", "x"};
    levels[i].array.attributes = *ParseJson(*texts[i]);
  }
  return levels;
}

TEST(N5Pyramid, GroupAndLevelsHaveFactorsAndTheVoxelOfTheFirstLevel) {
  PyramidGeometry geometry;
  geometry.axes = {{"z", PyramidAxis::Kind::kSpace, "nm"}, {"x", PyramidAxis::Kind::kSpace, "nm"}};
  geometry.levels = {{{40, 8}, {120, -16}}, {{40, 16}, {120, -16}}};
  EXPECT_EQ(CompactJson(*N5GroupOf(geometry)),
            R"({"downsamplingFactors":[[1,1],[2,1]],"scales":[[1,1],[2,1]],)"
            R"("pixelResolution":{"unit":"nm","dimensions":[8,40]},"multiScale":true})");
  EXPECT_EQ(CompactJson(*N5LevelOf(geometry, 1)),
            R"({"downsamplingFactors":[2,1],"pixelResolution":{"unit":"nm","dimensions":[8,40]},)"
            R"("offset":[-16,120]})");
  geometry.levels[1].resolution[1] = 12;
  const auto refused = N5GroupOf(geometry);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
}

TEST(N5Pyramid, TheFirstVoxelTimesTheFactorsIsTheResolution) {
  const auto read =
      GeometryOfN5(*ParseJson(R"({"pixelResolution":{"unit":"um","dimensions":[0.008,0.04]}})"),
                   Levels("{}", R"({"downsamplingFactors":[4,2],"offset":[32,80]})"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->levels[0].resolution, (std::vector<double>{40, 8}));
  EXPECT_EQ(read->levels[1].resolution, (std::vector<double>{80, 32}));
  EXPECT_EQ(read->levels[1].corner, (std::vector<double>{80, 32}));
  EXPECT_EQ(read->axes[0].unit, "nm");
}

// The centre of the first voxel of the coarse level is 12 nm behind that of the fine one along x:
// its corner is where that of the fine level is.
constexpr const char* kFine =
    R"({"axes":["z","x"],"scale":[40,8],"translate":[0,16],"units":["nm","nm"]})";
constexpr const char* kCoarse =
    R"({"order":"F","axes":["x","z"],"scale":[32,40],"translate":[28,0],"units":["nm","nm"]})";

TEST(N5Pyramid, TheTransformOfCosemIsRead) {
  const std::string fine = std::string(R"({"transform":)") + kFine + "}";
  const std::string coarse = std::string(R"({"transform":)") + kCoarse + "}";
  const std::string group =
      std::string(R"({"multiscales":[{"datasets":[{"path":"s1","transform":)") + kCoarse +
      R"(},{"path":"s0","transform":)" + kFine + "}]}]}";
  auto levels = Levels(fine, coarse);
  auto unnamed = Levels("{}", "{}");
  for (PyramidLevel& level : unnamed) level.array.axis_names.clear();
  for (const auto& read :
       {GeometryOfN5(*ParseJson("{}"), levels), GeometryOfN5(*ParseJson(group), unnamed)}) {
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->levels[0].resolution, (std::vector<double>{40, 8}));
    EXPECT_EQ(read->levels[1].resolution, (std::vector<double>{40, 32}));
    EXPECT_EQ(read->levels[0].corner, (std::vector<double>{0, 16}));
    EXPECT_EQ(read->levels[1].corner, (std::vector<double>{0, 16}));
    EXPECT_EQ(read->axes[0].name, "z");
    EXPECT_EQ(read->axes[1].unit, "nm");
    EXPECT_TRUE(read->warnings.empty());
  }
}

TEST(N5Pyramid, ATransformOfAnotherFormIsAnAttribute) {
  for (const char* text : {R"({"transform":[1,0,0]})", R"({"transform":{"scale":[1,1]}})",
                           R"({"transform":{"axes":["z","x"],"scale":[1],"translate":[0,0],)"
                           R"("units":["nm","nm"]}})"}) {
    const auto read = GeometryOfN5(*ParseJson("{}"), Levels(text, "{}"));
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->warnings.size(), 1U) << text;
  }
  const auto damaged =
      GeometryOfN5(*ParseJson("{}"), Levels(R"({"transform":{"axes":["z","x"],"scale":[1,0],)"
                                            R"("translate":[0,0],"units":["nm","nm"]}})",
                                            "{}"));
  ASSERT_FALSE(damaged);
  EXPECT_NE(damaged.error().message.find("s0: transform"), std::string::npos);
}

TEST(N5Pyramid, LevelsWithoutFactorsAreTwiceAsCoarseEach) {
  const auto read = GeometryOfN5(*ParseJson("{}"), Levels("{}", "{}"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->levels[1].resolution, (std::vector<double>{2, 2}));
  EXPECT_EQ(read->warnings.size(), 1U);
}

TEST(N5Pyramid, ALevelsOwnResolutionIsUsed) {
  auto levels = Levels("{}", "{}");
  for (std::size_t i = 0; i < 2; ++i) {
    levels[i].array.units = {DimensionUnit{40.0, "nm"}, DimensionUnit{i == 0 ? 8.0 : 24.0, "nm"}};
  }
  const auto read = GeometryOfN5(*ParseJson("{}"), levels);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->levels[1].resolution, (std::vector<double>{40, 24}));
}

TEST(N5Pyramid, NumbersThatPlaceNoVoxelsAreRefused) {
  SourceDataset dataset;
  dataset.dialect = Dialect::kN5;
  dataset.kind = SourceDataset::Kind::kPyramid;
  dataset.levels = Levels("{}", R"({"downsamplingFactors":[1e300,1]})");
  dataset.attributes = *ParseJson(R"({"pixelResolution":[1e300,1]})");
  const auto refused = ReadGeometry(dataset);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
}

TEST(N5Pyramid, ListsOfAnotherLengthAreDamaged) {
  EXPECT_FALSE(GeometryOfN5(*ParseJson("{}"), Levels("{}", R"({"downsamplingFactors":[4]})")));
  EXPECT_FALSE(GeometryOfN5(*ParseJson("{}"), Levels(R"({"offset":["a",1]})", "{}")));
}

}  // namespace
}  // namespace unshard
