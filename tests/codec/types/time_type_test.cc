#include "codec/types/time_type.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/json/parser.h"
#include "codec/json/writer.h"

namespace unshard {
namespace {

std::string Time(const std::string& kind, const std::string& unit, const std::string& scale) {
  return R"({"name":"numpy.)" + kind + R"(","configuration":{"unit":")" + unit +
         R"(","scale_factor":)" + scale + "}}";
}

TEST(TimeType, NumpyAndZarr3NameTheSameTypes) {
  struct {
    const char* numpy;
    std::string zarr3;
  } const cases[] = {{"<M8[ns]", Time("datetime64", "ns", "1")},
                     {">M8[s]", Time("datetime64", "s", "1")},
                     {"<m8[10us]", Time("timedelta64", "us", "10")},
                     {"<M8[Y]", Time("datetime64", "Y", "1")},
                     {"<m8[2147483647as]", Time("timedelta64", "as", "2147483647")},
                     {"<m8", Time("timedelta64", "generic", "1")}};
  for (const auto& [numpy, zarr3] : cases) {
    const auto parsed = ParseNumpyTime(numpy);
    ASSERT_TRUE(parsed) << numpy;
    EXPECT_EQ(WriteJson(parsed->data_type, 0), WriteJson(*ParseJson(zarr3), 0));
    EXPECT_TRUE(IsTime(parsed->data_type));
    EXPECT_EQ(NumpyTimeName(*parsed), numpy);
  }
  EXPECT_EQ(NumpyTimeName({*ParseJson(Time("datetime64", "\xce\xbcs", "1")), false}), "<M8[us]");
}

TEST(TimeType, OtherTypesAreNoTimes) {
  for (const char* const name :
       {"", "<", "<M", "M8[ns]", "|M8[ns]", "<M4[ns]", "<M8[", "<M8[]", "<M8[ns", "<M8[xs]",
        "<M8[0s]", "<M8[2147483648s]", "<M8[-1s]", "<i8", "<M8[ns]]"}) {
    EXPECT_FALSE(ParseNumpyTime(name)) << name;
  }
  for (const std::string& json :
       {std::string("3"), std::string(R"("numpy.datetime64")"),
        std::string(R"({"name":"numpy.datetime64"})"), Time("datetime64", "eon", "1"),
        Time("datetime64", "s", "0"), Time("datetime64", "s", "1.5"),
        Time("datetime64", "s", "\"1\""), Time("datetime", "s", "1")}) {
    EXPECT_FALSE(IsTime(*ParseJson(json))) << json;
  }
}

}  // namespace
}  // namespace unshard
