// OME-Zarr 0.6: the table of what is accepted and refused, and the rules between versions.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "codec/json/parser.h"
#include "codec/pyramid/ome_conversion.h"
#include "codec/pyramid/ome_pyramid.h"
#include "tests/support/compact_json.h"
#include "tests/support/folders.h"

namespace unshard {
namespace {

JsonValue Cases() {
  std::ifstream file(SourceFolder() + "/tests/codec/pyramid/ome_0.6_cases.json");
  return *ParseJson(std::string{std::istreambuf_iterator<char>(file), {}});
}

std::vector<PyramidLevel> TwoLevels() {
  std::vector<PyramidLevel> levels(2);
  levels[0].array.shape = {10, 16, 16};
  levels[1].array.shape = {10, 8, 8};
  return levels;
}

JsonValue OmeWith(JsonValue multiscale, const char* version = "0.6") {
  return JsonValue::Object({{"version", JsonValue::String(version)},
                            {"multiscales", JsonValue::Array({std::move(multiscale)})}});
}

struct Verdict {
  // "" where it is read; else what the message has.
  std::string refused;
  std::vector<double> scale, translation;  // of the second level
  std::size_t warnings = 0;
};

TEST(OmeVersions, EachCaseIsReadOrRefusedAsTheTableSays) {
  const std::vector<double> kScale = {40, 16, 16}, kCentre = {0, 4, 4};
  const Verdict fine{"", kScale, kCentre};
  const std::map<std::string, Verdict> expected = {
      {"ok_basic", fine},
      {"ok_identity", fine},
      {"ok_world_first", fine},
      {"ok_affine_world", fine},
      {"ok_array_axes", fine},
      {"bad_translation_first", {"", kScale, {0, 64, 64}}},
      {"bad_05_style_list", fine},
      {"bad_translation_only", fine},
      {"bad_affine_level", fine},  // a diagonal matrix
      {"bad_mapaxis_level",
       {"datasets[0].coordinateTransformations[0]: the transformation mapAxis", {}, {}}},
      {"bad_bydimension_level", {"the transformation byDimension", {}, {}}},
      {"bad_string_io", fine},
      {"bad_no_io", fine},
      {"bad_input_other_path", {"", kScale, kCentre, 1}},
      {"bad_output_unknown", {"several coordinate systems, intrinsic and nowhere", {}, {}}},
      {"bad_two_outputs", {"several coordinate systems, b and intrinsic", {}, {}}},
      {"odd_axes_too", fine},
      {"bad_scale_zero", {"datasets[0]: expected a scale above 0 along the axis z", {}, {}}},
      {"odd_inner_io", fine},
      {"bad_time_in_middle", fine},
      {"bad_coarse_first", fine},
  };
  const JsonValue cases = Cases();
  EXPECT_EQ(cases.members().size(), expected.size());
  for (const auto& [name, one] : cases.members()) {
    SCOPED_TRACE(name);
    const Verdict& wanted = expected.at(name);
    const auto read = ReadOmeImage(OmeWith(*one.Find("multiscale")), TwoLevels());
    if (!wanted.refused.empty()) {
      ASSERT_FALSE(read);
      EXPECT_EQ(read.error().code, ErrorCode::kNotSupported);
      EXPECT_NE(read.error().message.find(wanted.refused), std::string::npos)
          << read.error().message;
      continue;
    }
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->levels[0].path, "0");
    EXPECT_EQ(read->levels[1].transform.scale, wanted.scale);
    EXPECT_EQ(read->levels[1].transform.translation, wanted.translation);
    EXPECT_EQ(read->warnings.size(), wanted.warnings);
    EXPECT_EQ(read->system, "intrinsic");
    EXPECT_EQ(read->axes.size(), 3U);
  }
}

TEST(OmeVersions, WhatIsReadIsWrittenAsTheVersionHasIt) {
  const JsonValue cases = Cases();
  for (const auto& [name, one] : cases.members()) {
    const auto read = ReadOmeImage(OmeWith(*one.Find("multiscale")), TwoLevels());
    if (!read) continue;
    SCOPED_TRACE(name);
    for (const char* version : {"0.4", "0.5", "0.6"}) {
      JsonValue attributes = JsonValue::Object({{"ome", OmeWith(*one.Find("multiscale"))}});
      std::vector<std::string> warnings;
      const OmeVersion& written = *FindOmeVersion(version);
      ASSERT_TRUE(ConvertOme(Dialect::kZarr3, written, TwoLevels(), attributes, warnings));
      const JsonValue ome = OmeOf(written.dialect, attributes);
      EXPECT_EQ(OmeVersionOf(ome), version);
      EXPECT_EQ(OmeShapeOf(ome.Find("multiscales")->items()[0]), written.shape);
      const auto again = ReadOmeImage(ome, TwoLevels());
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(again->name, "m");
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(again->levels[i].path, read->levels[i].path);
        EXPECT_EQ(again->levels[i].dataset, i) << "the finest first";
        EXPECT_EQ(again->levels[i].transform.scale, read->levels[i].transform.scale);
        EXPECT_EQ(again->levels[i].transform.translation, read->levels[i].transform.translation);
      }
      const bool has_systems = written.shape == OmeShape::kSystems;
      EXPECT_EQ(again->other_systems, has_systems ? read->other_systems : std::vector<JsonValue>());
      const bool loses = !read->other_systems.empty() && !has_systems;
      EXPECT_EQ(warnings.size(), read->warnings.size() + (loses ? 1 : 0));
    }
  }
}

TEST(OmeVersions, TheWayToAnotherSystemIsNotThatOfTheLevels) {
  const JsonValue cases = Cases();
  const auto geometry =
      GeometryOfOme(OmeWith(*cases.Find("ok_world_first")->Find("multiscale")), TwoLevels());
  ASSERT_TRUE(geometry) << geometry.error().message;
  EXPECT_EQ(geometry->levels[0].corner, (std::vector<double>{0, 0, 0}));
  const JsonValue five = *ParseJson(
      R"({"multiscales":[{"axes":[{"name":"x","type":"space","unit":"micrometer"}],)"
      R"("datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[2]}]}],)"
      R"("coordinateTransformations":[{"type":"scale","scale":[3]},)"
      R"({"type":"translation","translation":[6]}]}]})");
  std::vector<PyramidLevel> level(1);
  level[0].array.shape = {8};
  const auto applied = GeometryOfOme(five, level);
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(applied->levels[0].resolution, (std::vector<double>{6000}));
  EXPECT_EQ(applied->levels[0].corner, (std::vector<double>{6000}));
}

TEST(OmeVersions, WhatIsAppliedToAllLevelsBecomesAWayToAnotherSystem) {
  JsonValue attributes = *ParseJson(
      R"({"ome":{"version":"0.5","multiscales":[{"name":"a","type":"mean",)"
      R"("axes":[{"name":"y","type":"space","unit":"micrometer"},{"name":"x","type":"space"}],)"
      R"("datasets":[{"path":"s0","coordinateTransformations":[{"type":"scale","scale":[2,2]}]},)"
      R"({"path":"s1","coordinateTransformations":[{"type":"scale","scale":[4,4]},)"
      R"({"type":"translation","translation":[1,1]}]}],)"
      R"("coordinateTransformations":[{"type":"scale","scale":[0.5,1]}]}]}})");
  std::vector<std::string> warnings;
  ASSERT_TRUE(ConvertOme(Dialect::kZarr3, *FindOmeVersion("0.6"), {}, attributes, warnings));
  EXPECT_EQ(
      CompactJson(attributes),
      R"({"ome":{"version":"0.6","multiscales":[{"name":"a","type":"mean",)"
      R"("coordinateSystems":[{"name":"physical","axes":[)"
      R"({"name":"y","type":"space","unit":"micrometer"},{"name":"x","type":"space"}]},)"
      R"({"name":"output","axes":[{"name":"y","type":"space"},{"name":"x","type":"space"}]}],)"
      R"("datasets":[)"
      R"({"path":"s0","coordinateTransformations":[{"type":"scale","scale":[2,2],)"
      R"("input":{"path":"s0"},"output":{"name":"physical"}}]},)"
      R"({"path":"s1","coordinateTransformations":[{"type":"sequence","transformations":[)"
      R"({"type":"scale","scale":[4,4]},{"type":"translation","translation":[1,1]}],)"
      R"("input":{"path":"s1"},"output":{"name":"physical"}}]}],)"
      R"("coordinateTransformations":[{"type":"scale","scale":[0.5,1],)"
      R"("input":{"name":"physical"},"output":{"name":"output"}}]}]}})");
  EXPECT_TRUE(warnings.empty());
}

TEST(OmeVersions, GroupsWithoutLevelsGetWhatTheVersionWants) {
  JsonValue plate = *ParseJson(
      R"({"plate":{"version":"0.2","rows":[{"name":"A"},{"name":"B"}],"columns":[{"name":"1"}],)"
      R"("wells":[{"path":"B/1"}]},"title":"kept"})");
  std::vector<std::string> warnings;
  ASSERT_TRUE(ConvertOme(Dialect::kZarr2, *FindOmeVersion("0.6"), {}, plate, warnings));
  EXPECT_EQ(CompactJson(plate),
            R"({"title":"kept","ome":{"version":"0.6","plate":{"rows":[{"name":"A"},{"name":"B"}],)"
            R"("columns":[{"name":"1"}],"wells":[{"path":"B/1","rowIndex":1,"columnIndex":0}]}}})");
  ASSERT_TRUE(ConvertOme(Dialect::kZarr3, *FindOmeVersion("0.4"), {}, plate, warnings));
  EXPECT_EQ(TextOf(*plate.Find("plate"), "version"), "0.4");
  JsonValue scene = *ParseJson(R"({"ome":{"version":"0.6","scene":{"coordinateTransformations":)"
                               R"([]}}})");
  ASSERT_TRUE(ConvertOme(Dialect::kZarr3, *FindOmeVersion("0.5"), {}, scene, warnings));
  EXPECT_EQ(CompactJson(scene), R"({"ome":{"version":"0.5"}})");
  EXPECT_EQ(warnings.size(), 1U);
}

TEST(OmeVersions, WhatACopyLeftInN5IsThatOfTheVersion) {
  JsonValue attributes = *ParseJson(
      R"({"ome":{"version":"0.6","labels":["a"],"multiscales":[{"of":"N5"}]},"multiscales":[]})");
  std::vector<std::string> warnings;
  ASSERT_TRUE(ConvertOme(Dialect::kN5, *FindOmeVersion("0.5"), {}, attributes, warnings));
  EXPECT_EQ(CompactJson(attributes),
            R"({"multiscales":[],"ome":{"version":"0.5","labels":["a"]}})");
}

TEST(OmeVersions, WindowsHaveAllFourNumbers) {
  JsonValue image = *ParseJson(
      R"({"ome":{"version":"0.9.dev1","omero":{"channels":[)"
      R"({"color":"FF0000","window":{"start":0,"end":9}},{"window":{"min":1,"max":2,"start":1,)"
      R"("end":2}},{"window":{"end":9}},{"label":"a"}]}}})");
  std::vector<std::string> warnings;
  ASSERT_TRUE(ConvertOme(Dialect::kZarr3, *FindOmeVersion("0.6"), {}, image, warnings));
  EXPECT_EQ(CompactJson(*image.Find("ome")->Find("omero")),
            R"({"channels":[{"color":"FF0000","window":{"start":0,"end":9,"min":0,"max":9}},)"
            R"({"window":{"min":1,"max":2,"start":1,"end":2}},{},{"label":"a"}]})");
}

TEST(OmeVersions, UnknownVersionsAreJudgedByShape) {
  const JsonValue cases = Cases();
  for (const char* version : {"0.6rc0", "0.6.dev4", "0.9.dev1", "7"}) {
    const auto read =
        ReadOmeImage(OmeWith(*cases.Find("ok_basic")->Find("multiscale"), version), TwoLevels());
    EXPECT_TRUE(read) << version;
  }
  EXPECT_EQ(FindOmeVersion("0.3"), nullptr) << "it is read alone";
  EXPECT_EQ(OmeVersionNames(), "0.4, 0.5, 0.6");
}

TEST(OmeVersions, APyramidOfAnotherFormatGetsOneSystem) {
  PyramidGeometry geometry;
  geometry.axes = {{"y", PyramidAxis::Kind::kSpace, "nm"}, {"x", PyramidAxis::Kind::kSpace, "nm"}};
  geometry.levels = {{{8, 8}, {0, 0}}, {{16, 16}, {0, 0}}};
  const JsonValue six = MultiscalesOf(geometry, {"0", "1"}, *FindOmeVersion("0.6"));
  EXPECT_EQ(CompactJson(six),
            R"([{"coordinateSystems":[{"name":"physical","axes":[)"
            R"({"name":"y","type":"space","unit":"nanometer"},)"
            R"({"name":"x","type":"space","unit":"nanometer"}]}],"datasets":[{"path":"0",)"
            R"("coordinateTransformations":[{"type":"scale","scale":[8,8],"input":{"path":"0"},)"
            R"("output":{"name":"physical"}}]},{"path":"1","coordinateTransformations":[)"
            R"({"type":"sequence","transformations":[{"type":"scale","scale":[16,16]},)"
            R"({"type":"translation","translation":[4,4]}],"input":{"path":"1"},)"
            R"("output":{"name":"physical"}}]}]}])");
}

}  // namespace
}  // namespace unshard
