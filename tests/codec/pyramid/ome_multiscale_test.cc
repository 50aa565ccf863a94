// OME-Zarr: views rule 5.
#include "codec/pyramid/ome_multiscale.h"

#include <gtest/gtest.h>

#include "codec/json/parser.h"
#include "tests/support/compact_json.h"

namespace unshard {
namespace {

std::vector<PyramidLevel> Levels(std::size_t count, std::size_t rank) {
  PyramidLevel level;
  level.array.shape.assign(rank, 10);
  return std::vector<PyramidLevel>(count, level);
}

PyramidGeometry Geometry() {
  PyramidGeometry geometry;
  geometry.axes = {{"z", PyramidAxis::Kind::kSpace, "nm"}, {"x", PyramidAxis::Kind::kSpace, "nm"}};
  geometry.levels = {{{40, 8}, {120, -16}}, {{40, 16}, {120, -16}}, {{80, 48}, {80, -48}}};
  return geometry;
}

TEST(OmeMultiscale, TranslationsAreThoseOfCentres) {
  const JsonValue written = MultiscalesOf(Geometry(), {"0", "1", "2"});
  EXPECT_EQ(CompactJson(*written.items()[0].Find("datasets")),
            R"([{"path":"0","coordinateTransformations":[{"type":"scale","scale":[40,8]},)"
            R"({"type":"translation","translation":[120,-16]}]},)"
            R"({"path":"1","coordinateTransformations":[{"type":"scale","scale":[40,16]},)"
            R"({"type":"translation","translation":[120,-12]}]},)"
            R"({"path":"2","coordinateTransformations":[{"type":"scale","scale":[80,48]},)"
            R"({"type":"translation","translation":[100,-28]}]}])");
  EXPECT_EQ(CompactJson(*written.items()[0].Find("axes")),
            R"([{"name":"z","type":"space","unit":"nanometer"},)"
            R"({"name":"x","type":"space","unit":"nanometer"}])");
}

TEST(OmeMultiscale, ReadsBackWhatItWrites) {
  JsonValue ome = JsonValue::Object();
  ome.Set("multiscales", MultiscalesOf(Geometry(), {"0", "1", "2"}));
  const auto read = GeometryOfOme(ome, Levels(3, 2));
  ASSERT_TRUE(read) << read.error().message;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read->levels[i].resolution, Geometry().levels[i].resolution);
    EXPECT_EQ(read->levels[i].corner, Geometry().levels[i].corner);
  }
}

JsonValue Ome(const std::string& datasets, const std::string& unit = "micrometer") {
  return *ParseJson(R"({"multiscales":[{"axes":[{"name":"x","type":"space","unit":")" + unit +
                    R"("}],"datasets":)" + datasets + "}]}");
}

std::string Dataset(const std::string& scale, const std::string& translation) {
  return R"({"path":"a","coordinateTransformations":[{"type":"scale","scale":[)" + scale +
         R"(]},{"type":"translation","translation":[)" + translation + "]}]}";
}

TEST(OmeMultiscale, WholeVoxelsDecideBetweenCornersAndCentres) {
  const auto corners = GeometryOfOme(
      Ome("[" + Dataset("0.01", "0.04") + "," + Dataset("0.02", "0.04") + "]"), Levels(2, 1));
  ASSERT_TRUE(corners) << corners.error().message;
  EXPECT_EQ(*WholeOffset(corners->levels[0], 0, ""), 4);
  EXPECT_EQ(*WholeOffset(corners->levels[1], 0, ""), 2);
  const auto centres = GeometryOfOme(
      Ome("[" + Dataset("0.01", "0.04") + "," + Dataset("0.02", "0.045") + "]"), Levels(2, 1));
  ASSERT_TRUE(centres) << centres.error().message;
  EXPECT_EQ(*WholeOffset(centres->levels[1], 0, ""), 2);
  EXPECT_EQ(centres->axes[0].unit, "nm");
  const auto neither = GeometryOfOme(
      Ome("[" + Dataset("0.01", "0.04") + "," + Dataset("0.02", "0.043") + "]"), Levels(2, 1));
  ASSERT_FALSE(neither);
  EXPECT_EQ(neither.error().code, ErrorCode::kNotSupported);
}

TEST(OmeMultiscale, AnAxisWithoutUnitIsAWarning) {
  const auto read = GeometryOfOme(
      *ParseJson(R"({"multiscales":[{"axes":[{"name":"x","type":"space"}],"datasets":[)" +
                 Dataset("2", "0") + "]}]}"),
      Levels(1, 1));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->warnings.size(), 1U);
}

TEST(OmeMultiscale, VersionsMoveInAndOutOfTheirMember) {
  const std::string five =
      R"({"title":"kept","ome":{"version":"0.5","multiscales":[{"name":"a"}],"omero":{"id":1}}})";
  const std::string four =
      R"({"title":"kept","multiscales":[{"name":"a","version":"0.4"}],"omero":{"id":1}})";
  EXPECT_EQ(CompactJson(AttributesInZarr2(*ParseJson(five))), four);
  EXPECT_EQ(AttributesInZarr3(*ParseJson(four)), *ParseJson(five));
  EXPECT_EQ(AttributesInZarr3(*ParseJson(R"({"a":1})")), *ParseJson(R"({"a":1})"));
}

}  // namespace
}  // namespace unshard
