#include "codec/array/units.h"

#include <gtest/gtest.h>

#include "codec/json/parser.h"
#include "codec/json/writer.h"

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
  EXPECT_EQ(Nanometres({2, "meter"}), 2e9);
  EXPECT_EQ(Nanometres({1, "yottametres"}), 1e33);
  EXPECT_EQ(Nanometres({1, "mile"}), 1.609344e12);
  EXPECT_EQ(Nanometres({1, "femtometer"}), 1e-6);
  for (const char* micrometre : {"µm", "μm", "um", "micron"}) {
    EXPECT_EQ(Nanometres({1, micrometre}), 1000) << micrometre;
  }
  EXPECT_EQ(Nanometres({1, "parameter"}), std::nullopt);
  EXPECT_EQ(Nanometres({1, "s"}), std::nullopt);
  EXPECT_EQ(Nanometres({1, ""}), std::nullopt);
}

TEST(DimensionUnit, TextsHaveTheDigitsThatAreAskedFor) {
  const DimensionUnits units = {DimensionUnit{1.0 / 3, "nm"}, std::nullopt};
  EXPECT_EQ(WriteJson(UnitTexts(units), 0), R"(["0.3333333333333333 nm", null])");
  EXPECT_EQ(WriteJson(UnitTexts(units, SixDigits), 0), R"(["0.333333 nm", null])");
}

TEST(DimensionUnit, SchemasHaveFourForms) {
  const auto parsed = [](const char* text) -> std::string {
    const auto json = ParseJson(text);
    const auto units = ParseDimensionUnits(*JsonCursor(*json, "dimension_units").Items());
    return units ? WriteJson(DimensionUnitsJson(*units), 0) : units.error().message;
  };
  EXPECT_EQ(parsed(R"(["8.5 nm", 3, [4, "um"], null])"),
            R"([[8.5, "nm"], [3.0, ""], [4.0, "um"], null])");
  EXPECT_EQ(parsed(R"([[0, "nm"]])"),
            "dimension_units[0][0]: expected a finite number above 0, found the number 0");
  EXPECT_EQ(parsed("[true]"),
            "dimension_units[0]: expected a string, a number, a pair of a number "
            "and a unit, or null, found true");
}

}  // namespace
}  // namespace unshard
