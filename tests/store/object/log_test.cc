#include "store/object/log.h"

#include <gtest/gtest.h>

#include <string>

namespace unshard {
namespace {

std::string Logged(LogSink sink) {
  StartLog(sink, LogLevel::kWarning);
  testing::internal::CaptureStderr();
  LogInfo("too quiet");
  LogWarning("a {} name\nwith a line break");
  return testing::internal::GetCapturedStderr();
}

TEST(LogTest, WritesOneLineToStandardErrorFromItsLevelUpwards) {
  EXPECT_EQ(Logged(LogSink::kStandardError), "unshard: a {} name?with a line break\n");
  const std::string dated = Logged(LogSink::kDatedStandardError);
  EXPECT_EQ(dated.find("too quiet"), std::string::npos);
  EXPECT_TRUE(dated.ends_with(" warning: a {} name?with a line break\n")) << dated;
  StartLog(LogSink::kStandardError, LogLevel::kInfo);
}

}  // namespace
}  // namespace unshard
