#include "store/log.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

TEST(LogTest, WritesOneLineToStandardErrorFromItsLevelUpwards) {
  StartLog(LogSink::kStandardError, LogLevel::kWarning);
  testing::internal::CaptureStderr();
  LogInfo("too quiet");
  LogWarning("a {} name\nwith a line break");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("too quiet"), std::string::npos);
  EXPECT_NE(text.find("warning: a {} name?with a line break\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace unshard
