#include "codec/json/number.h"

#include <gtest/gtest.h>

#include <cmath>

namespace unshard {
namespace {

TEST(JsonNumber, IsTheNearestDouble) {
  const std::pair<const char*, double> numbers[] = {{"1", 1},
                                                    {"-0.5", -0.5},
                                                    {"9007199254740993", 9007199254740992},
                                                    {"1e-400", 0},
                                                    {"1e400", HUGE_VAL},
                                                    {"-1e400", -HUGE_VAL},
                                                    {"Infinity", HUGE_VAL},
                                                    {"-Infinity", -HUGE_VAL}};
  for (const auto& [token, number] : numbers) {
    const JsonValue value = JsonValue::Number(token);
    EXPECT_EQ(NumberOf(value), number) << token;
    const bool is_finite = std::isfinite(number);
    EXPECT_EQ(FiniteNumberOf(value).has_value(), is_finite) << token;
    EXPECT_EQ(FiniteNumberAt({value, "a"}).has_value(), is_finite) << token;
  }
  EXPECT_TRUE(std::isnan(*NumberOf(JsonValue::Number("NaN"))));
  EXPECT_FALSE(NumberOf(JsonValue::String("1")));
}

TEST(JsonNumber, FailuresSayWhatWasExpected) {
  const JsonValue text = JsonValue::String("1");
  const JsonValue large = JsonValue::Number("1e400");
  EXPECT_EQ(NumberAt({text, "a"}).error().message, "a: expected a number, found the string \"1\"");
  EXPECT_EQ(NumberAt({large, "a"}).error().message,
            "a: expected a number within the range of a 64-bit floating-point number, found the "
            "number 1e400");
  EXPECT_EQ(FiniteNumberAt({large, "a"}).error().message,
            "a: expected a finite number, found the number 1e400");
}

}  // namespace
}  // namespace unshard
