#include "fs/common/error_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace unshard {
namespace {

TEST(ErrorLogTest, EveryCodeHasItsErrno) {
  const std::pair<ErrorCode, int> expected[] = {{ErrorCode::kInvalidArgument, EINVAL},
                                                {ErrorCode::kNotFound, ENOENT},
                                                {ErrorCode::kPermissionDenied, EACCES},
                                                {ErrorCode::kNotSupported, EOPNOTSUPP},
                                                {ErrorCode::kDataLoss, EIO},
                                                {ErrorCode::kConflict, ESTALE},
                                                {ErrorCode::kUnavailable, EIO},
                                                {ErrorCode::kResourceExhausted, EIO},
                                                {ErrorCode::kReadOnly, EROFS},
                                                {ErrorCode::kInternal, EIO}};
  for (const auto& [code, number] : expected) {
    EXPECT_EQ(ErrnoOf(Error{code, "", 0}), number) << ErrorCodeName(code);
  }
}

TEST(ErrorLogTest, AFullOrExhaustedSystemIsToldAsItIs) {
  for (const int number : {ENOSPC, EDQUOT, ENAMETOOLONG, EMFILE, ENFILE, ENOMEM}) {
    EXPECT_EQ(ErrnoOf(Error{ErrorCode::kResourceExhausted, "", number}), number);
  }
}

TEST(ErrorLogTest, ACallerWhoseWaitWasEndedIsToldBySignalOrByTime) {
  for (const int number : {EINTR, ETIMEDOUT}) {
    EXPECT_EQ(ErrnoOf(FailErrno(number, "waiting").value()), number);
  }
}

// Links of the source that lead in a circle are no mistake of the caller.
TEST(ErrorLogTest, ALoopOfLinksIsToldAsOne) {
  EXPECT_EQ(ErrnoOf(FailErrno(ELOOP, "opening a shard").value()), ELOOP);
}

TEST(ErrorLogTest, DamageIsNeverTakenForAMissingFile) {
  for (const int number : {0, ENOENT, ENOTDIR, EISDIR, ESTALE}) {
    EXPECT_EQ(ErrnoOf(Error{ErrorCode::kDataLoss, "", number}), EIO) << number;
  }
}

TEST(ErrorLogTest, AFailedRequestIsOneLineWithOperationPathErrnoAndReason) {
  ErrorLog log;
  log.Add("read", "8_8_8/0-64_0-64_0-64", Error{ErrorCode::kDataLoss, "0.shard: crc", 0});
  const std::string text = log.Text();
  EXPECT_NE(text.find(" read /8_8_8/0-64_0-64_0-64 EIO data loss: 0.shard: crc\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find('T'), 10u) << "begins with the time";
}

TEST(ErrorLogTest, ALineStaysOneLineWhateverANameHolds) {
  ErrorLog log;
  log.Add("lookup", "evil\nname\r", Error{ErrorCode::kNotFound, "two\nlines", 0});
  const std::string text = log.Text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  log.Add("lookup", "\x1b[2J\xff", Error{ErrorCode::kNotFound, "", 0});
  EXPECT_NE(log.Text().find("/\\x1b[2J\\xff "), std::string::npos) << log.Text();
}

TEST(ErrorLogTest, OnlyTheLatestLinesAreKept) {
  ErrorLog log;
  for (std::size_t i = 0; i < ErrorLog::kKept + 5; ++i) {
    log.Add("read", "n" + std::to_string(i) + "!", Error{ErrorCode::kDataLoss, "", 0});
  }
  const std::string text = log.Text();
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), ErrorLog::kKept);
  EXPECT_EQ(text.find("/n4!"), std::string::npos);
  EXPECT_NE(text.find("/n5!"), std::string::npos);
  const auto latest = log.Latest(2);
  ASSERT_EQ(latest.size(), 2u);
  EXPECT_NE(latest[1].find("/n1004!"), std::string::npos);
  EXPECT_EQ(ErrorLog().Latest(5).size(), 0u);
}

TEST(ErrorLogTest, ErrnosAreNamed) {
  EXPECT_EQ(ErrnoName(EIO), "EIO");
  EXPECT_EQ(ErrnoName(ESTALE), "ESTALE");
  EXPECT_EQ(ErrnoName(123456), "123456");
}

}  // namespace
}  // namespace unshard
