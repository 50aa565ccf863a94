#include "fs/common/bounded_read.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

TEST(BoundedReadTest, FilesThatAnswerAreReadAndThoseThatFailNamedByErrno) {
  const TemporaryDirectory directory;
  const std::string whole(1 << 20, 'x');
  std::ofstream(directory.path() + "/file") << whole;
  std::ofstream(directory.path() + "/empty");
  const auto read = ReadWithin({directory.path() + "/file", directory.path() + "/missing",
                                directory.path() + "/empty", directory.path()},
                               60000);
  ASSERT_EQ(read.size(), 4u);
  EXPECT_EQ(read[0].state, BoundedRead::State::kRead);
  EXPECT_EQ(read[0].text, whole);
  EXPECT_EQ(read[1].state, BoundedRead::State::kFailed);
  EXPECT_EQ(read[1].error, ENOENT);
  EXPECT_EQ(read[2].state, BoundedRead::State::kRead);
  EXPECT_EQ(read[2].text, "");
  EXPECT_EQ(read[3].error, EISDIR);
}

TEST(BoundedReadTest, AFileThatNeverAnswersIsNotWaitedForAndKeepsNoOtherFromAnswering) {
  const TemporaryDirectory directory;
  const std::string silent = directory.path() + "/pipe";
  ASSERT_EQ(mkfifo(silent.c_str(), 0600), 0);  // to open it waits for a writer
  std::ofstream(directory.path() + "/file") << "text";
  const auto read = ReadWithin({silent, directory.path() + "/file"}, 2000);
  EXPECT_EQ(read[0].state, BoundedRead::State::kSilent);
  EXPECT_EQ(read[1].text, "text");
}

TEST(BoundedReadTest, NothingToReadIsNothing) { EXPECT_TRUE(ReadWithin({}, 60000).empty()); }

}  // namespace
}  // namespace unshard
