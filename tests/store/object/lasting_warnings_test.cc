#include "store/object/lasting_warnings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "store/object/log.h"

namespace unshard {
namespace {

class LastingWarningsTest : public testing::Test {
 protected:
  void SetUp() override { testing::internal::CaptureStderr(); }
  // The lines that were logged since the last call.
  static std::ptrdiff_t Lines() {
    const std::string text = testing::internal::GetCapturedStderr();
    testing::internal::CaptureStderr();
    return std::count(text.begin(), text.end(), '\n');
  }
  void TearDown() override { testing::internal::GetCapturedStderr(); }
};

TEST_F(LastingWarningsTest, TheSameLineIsLoggedOnce) {
  LastingWarnings warnings;
  for (int i = 0; i < 3; ++i) warnings.Warn("a", "a: is gone");
  EXPECT_EQ(Lines(), 1);
  warnings.Warn("a", "a: is broken");
  warnings.Warn("b", "a: is gone");
  EXPECT_EQ(Lines(), 2);
  warnings.Over("a");
  warnings.Warn("a", "a: is broken");
  EXPECT_EQ(Lines(), 1);
}

TEST_F(LastingWarningsTest, AStateThatLastsIsRecalled) {
  LastingWarnings warnings(std::chrono::seconds(0));
  for (int i = 0; i < 3; ++i) warnings.Warn("a", "a: is gone");
  EXPECT_EQ(Lines(), 3);
}

TEST_F(LastingWarningsTest, ManySubjectsAreForgotten) {
  LastingWarnings warnings;
  for (int i = 0; i < 5000; ++i) warnings.Warn(std::to_string(i), "is gone");
  EXPECT_EQ(Lines(), 5000);
}

}  // namespace
}  // namespace unshard
