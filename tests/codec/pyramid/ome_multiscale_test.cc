// OME-Zarr: views rule 5.
#include "codec/pyramid/ome_multiscale.h"

#include <gtest/gtest.h>

#include "codec/json/parser.h"
#include "codec/pyramid/ome_conversion.h"
#include "codec/pyramid/ome_pyramid.h"
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
  const JsonValue written = MultiscalesOf(Geometry(), {"0", "1", "2"}, *FindOmeVersion("0.5"));
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
  ome.Set("multiscales", MultiscalesOf(Geometry(), {"0", "1", "2"}, *FindOmeVersion("0.5")));
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

// The attributes of a group in the other version of Zarr, or in another one of the same.
JsonValue Converted(const std::string& attributes, const char* version,
                    const std::vector<PyramidLevel>& levels = {},
                    std::vector<std::string>* warnings = nullptr) {
  JsonValue json = *ParseJson(attributes);
  const Dialect from = json.Find("ome") != nullptr ? Dialect::kZarr3 : Dialect::kZarr2;
  std::vector<std::string> ignored;
  const Status done = ConvertOme(from, *FindOmeVersion(version), levels, json,
                                 warnings != nullptr ? *warnings : ignored);
  EXPECT_TRUE(done) << done.error().message;
  return json;
}

TEST(OmeMultiscale, VersionsMoveInAndOutOfTheirMember) {
  const std::string five =
      R"({"title":"kept","ome":{"version":"0.5","multiscales":[{"name":"a"}],"omero":{"id":1}}})";
  const std::string four =
      R"({"title":"kept","multiscales":[{"name":"a","version":"0.4"}],"omero":{"id":1}})";
  EXPECT_EQ(CompactJson(Converted(five, "0.4")), four);
  EXPECT_EQ(Converted(four, "0.5"), *ParseJson(five));
  EXPECT_EQ(Converted(R"({"a":1})", "0.5"), *ParseJson(R"({"a":1})"));
}

std::vector<PyramidLevel> LevelsOf(const std::vector<std::vector<std::uint64_t>>& shapes) {
  std::vector<PyramidLevel> levels;
  for (const auto& shape : shapes) {
    levels.emplace_back();
    levels.back().array.shape = shape;
  }
  return levels;
}

TEST(OmeMultiscale, VersionsWithoutScalesHaveThoseOfTheShapes) {
  const JsonValue ome =
      *ParseJson(R"({"multiscales":[{"version":"0.3","axes":["z","y","x"],)"
                 R"("datasets":[{"path":"0"},{"path":"1"},{"path":"2"},{"path":"3"}]}]})");
  const auto levels = LevelsOf({{1, 7, 100}, {1, 4, 50}, {1, 2, 17}, {1, 1, 17}});
  const auto geometry = GeometryOfOme(ome, levels);
  ASSERT_TRUE(geometry) << geometry.error().message;
  const std::vector<std::vector<double>> expected = {{1, 1, 1}, {1, 2, 2}, {1, 4, 6}, {1, 8, 6}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(geometry->levels[i].resolution, expected[i]) << i;
    EXPECT_EQ(geometry->levels[i].corner, (std::vector<double>{0, 0, 0})) << i;
  }
}

TEST(OmeMultiscale, VersionsWithoutAxesHaveFive) {
  const JsonValue ome =
      *ParseJson(R"({"multiscales":[{"version":"0.1","datasets":[{"path":"0"},{"path":"1"}]}]})");
  const auto levels = LevelsOf({{1, 2, 3, 8, 8}, {1, 2, 3, 4, 4}});
  const auto geometry = GeometryOfOme(ome, levels);
  ASSERT_TRUE(geometry) << geometry.error().message;
  EXPECT_EQ(geometry->axes[1].name, "c");
  EXPECT_EQ(geometry->axes[1].kind, PyramidAxis::Kind::kChannel);
  EXPECT_EQ(geometry->levels[1].resolution, (std::vector<double>{1, 1, 1, 2, 2}));
  EXPECT_EQ(OmeAxesOf(ome, 5)->back().name, "x");
  EXPECT_FALSE(GeometryOfOme(ome, LevelsOf({{8, 8}, {4, 4}}))) << "only five axes are known";
}

TEST(OmeMultiscale, WhatVersion04RequiresIsAdded) {
  const std::string old = R"({"multiscales":[{"version":"0.3","axes":["y","x"],"name":"cells",)"
                          R"("datasets":[{"path":"0"},{"path":"1"}]}],"other":1})";
  const JsonValue complete = Converted(old, "0.4", LevelsOf({{8, 6}, {4, 3}}));
  EXPECT_EQ(CompactJson(complete),
            R"({"other":1,"multiscales":[{"axes":[{"name":"y","type":"space"},)"
            R"({"name":"x","type":"space"}],"name":"cells",)"
            R"("datasets":[{"path":"0","coordinateTransformations":)"
            R"([{"type":"scale","scale":[1,1]}]},{"path":"1","coordinateTransformations":)"
            R"([{"type":"scale","scale":[2,2]},{"type":"translation","translation":[0.5,0.5]}]}],)"
            R"("version":"0.4"}]})");
  EXPECT_EQ(Converted(WriteJson(complete, 0), "0.4", LevelsOf({{8, 6}, {4, 3}})), complete);
}

TEST(OmeMultiscale, ShapesThatAreNoWholeFractionAreRefused) {
  const auto read = ReadOmeImage(
      *ParseJson(R"({"multiscales":[{"axes":["x"],"datasets":[{"path":"0"},{"path":"1"}]}]})"),
      LevelsOf({{100}, {42}}));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kNotSupported);
  EXPECT_NE(read.error().message.find("multiscales[0].datasets[1]: 42 voxels"), std::string::npos)
      << read.error().message;
}

TEST(OmeMultiscale, AMomentMayHaveTheScaleZero) {
  const JsonValue ome =
      *ParseJson(R"({"multiscales":[{"axes":[{"name":"t"},{"name":"x"}],"datasets":[{"path":"0",)"
                 R"("coordinateTransformations":[{"type":"scale","scale":[0.0,4]}]}]}]})");
  const auto geometry = GeometryOfOme(ome, LevelsOf({{1, 8}}));
  ASSERT_TRUE(geometry) << geometry.error().message;
  EXPECT_EQ(geometry->levels[0].resolution, (std::vector<double>{1, 4}));
  EXPECT_FALSE(GeometryOfOme(ome, LevelsOf({{2, 8}}))) << "two moments at one time";
}

TEST(OmeMultiscale, LevelsThatAreNotItsDatasetsAreRefused) {
  const JsonValue ome =
      *ParseJson(R"({"multiscales":[{"axes":["y","x"],"datasets":[{"path":"0"}]}]})");
  const auto geometry = GeometryOfOme(ome, LevelsOf({{8, 8}, {4, 4}}));
  ASSERT_FALSE(geometry);
  EXPECT_EQ(geometry.error().message, "multiscales[0].datasets: expected 2 levels, found 1");
}

TEST(OmeMultiscale, LargeOffsetsAreNotRounded) {
  const auto offset_of = [](const char* translation) {
    const JsonValue ome = *ParseJson(
        R"({"multiscales":[{"axes":[{"name":"x","type":"space","unit":"nanometer"}],)"
        R"("datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[8]},)"
        R"({"type":"translation","translation":[)" +
        std::string(translation) + "]}]}]}]}");
    const auto geometry = GeometryOfOme(ome, LevelsOf({{8}}));
    return geometry && WholeOffset(geometry->levels[0], 0, "x")
               ? *WholeOffset(geometry->levels[0], 0, "x")
               : -1;
  };
  EXPECT_EQ(offset_of("800000000.4"), -1) << "a twentieth of a voxel";
  EXPECT_EQ(offset_of("4000000004"), -1) << "half a voxel";
  EXPECT_EQ(offset_of("4000000008"), 500000001);
  EXPECT_EQ(offset_of("36028797018963960"), 4503599627370495) << "2^52 - 1 voxels";
  EXPECT_TRUE(IsNearlyWhole(0.1 * 3 * 1e12 / 0.3)) << "rounding errors of doubles";
}

}  // namespace
}  // namespace unshard
