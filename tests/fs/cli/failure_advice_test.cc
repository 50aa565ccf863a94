#include "fs/cli/failure_advice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "fs/common/error_log.h"
#include "store/object/error_number.h"

namespace unshard {
namespace {

// What the log writes, taken apart again.
LoggedFailure Logged(std::string_view operation, std::string_view path, const Error& error) {
  ErrorLog log;
  log.Add(operation, path, error);
  const std::string line = log.Latest(1).front();
  const auto failure = ParseLoggedFailure(line);
  EXPECT_TRUE(failure) << line;
  return failure.value_or(LoggedFailure());
}

TEST(FailureAdviceTest, ALineOfTheLogIsTakenApart) {
  const auto failure = Logged("close", "a/c/0", {ErrorCode::kInvalidArgument, "10 bytes: no", 0});
  EXPECT_EQ(failure.time.size(), 20u);
  EXPECT_EQ(failure.operation, "close");
  EXPECT_EQ(failure.path, "/a/c/0");
  EXPECT_EQ(failure.errno_name, "EINVAL");
  EXPECT_EQ(failure.code, "invalid argument");
  EXPECT_EQ(failure.message, "10 bytes: no");
}

TEST(FailureAdviceTest, NamesMayHoldSpacesAndLookLikeErrnos) {
  for (const char* path : {"my data/c/0", " EIO /x", "a EIO b", ""}) {
    const auto failure = Logged("read", path, {ErrorCode::kDataLoss, "0.shard: crc", 0});
    EXPECT_EQ(failure.path, "/" + std::string(path));
    EXPECT_EQ(failure.errno_name, "EIO");
    EXPECT_EQ(failure.message, "0.shard: crc");
  }
}

TEST(FailureAdviceTest, TheCloseOfAFileThatCouldNotBeWrittenIsAConsequence) {
  const auto full = Logged("write", "a/c/0", {ErrorCode::kResourceExhausted, "full", ENOSPC});
  const auto closed = Logged("close", "a/c/0", {ErrorCode::kInvalidArgument, "found 5", 0});
  EXPECT_TRUE(IsConsequence(closed, full));
  EXPECT_FALSE(IsConsequence(full, closed));
  EXPECT_FALSE(IsConsequence(closed, closed)) << "written again";
  EXPECT_FALSE(
      IsConsequence(Logged("close", "a/c/1", {ErrorCode::kInvalidArgument, "found 5", 0}), full));
}

TEST(FailureAdviceTest, AFailedFlushIsNotCuredByAnotherFlushAlone) {
  const auto failed =
      Logged("flush", ".unshard/config.json", {ErrorCode::kResourceExhausted, "no room", ENOSPC});
  const std::string advice = AdviceOn(failed, "/source", "/mnt");
  EXPECT_NE(advice.find("make room on the disk of /source"), std::string::npos) << advice;
}

TEST(FailureAdviceTest, OtherLinesAreNone) {
  for (const char* line : {"", "x", "2026 read a EIO data loss: b", "2026 read /a EIO",
                           "2026 read /a EIO something: b", "2026 read /a"}) {
    EXPECT_FALSE(ParseLoggedFailure(line)) << line;
  }
}

TEST(FailureAdviceTest, AFailureConcernsItsPathWhatHoldsItAndWhatItNames) {
  const auto failure = Logged(
      "rename", "a/.tmp", {ErrorCode::kPermissionDenied, "a/zarr.json: stay where they are", 0});
  for (const char* path : {"/", "/a", "/a/.tmp", "/a/zarr.json"}) {
    EXPECT_TRUE(Concerns(failure, path)) << path;
  }
  for (const char* path : {"/b", "/a/.tm", "/a/.tmp/x", "/zarr", "/a/zarr.json/x", "/arr.json"}) {
    EXPECT_FALSE(Concerns(failure, path)) << path;
  }
}

TEST(FailureAdviceTest, EveryErrnoThatAMountAnswersHasAnAdvice) {
  for (const int number :
       {EPERM, EACCES, EROFS, ESTALE, ENOSPC, EDQUOT, EXDEV, EBUSY, EISDIR, EEXIST, ENOTEMPTY,
        EFBIG, EMFILE, ENOMEM, ETIMEDOUT, EINVAL, EIO, EBADF}) {
    LoggedFailure failure;
    failure.errno_name = ErrnoName(number);
    const std::string advice = AdviceOn(failure, "/data", "/mnt");
    EXPECT_GT(advice.size(), 10u) << number;
    for (const char* word : {"SOURCE", "MOUNT"}) {
      EXPECT_EQ(advice.find(word), std::string::npos) << advice;
    }
  }
}

TEST(FailureAdviceTest, TheAdviceFitsTheReason) {
  const auto advice = [](const char* operation, const Error& error) {
    return AdviceOn(Logged(operation, "a", error), "/data", "/mnt");
  };
  EXPECT_NE(advice("read", {ErrorCode::kDataLoss, "x", 0}).find("an intact copy"),
            std::string::npos);
  EXPECT_NE(advice("read", {ErrorCode::kUnavailable, "x", 0}).find("try again"), std::string::npos);
  EXPECT_NE(advice("read", {ErrorCode::kResourceExhausted, "x", 0}).find("memory="),
            std::string::npos);
  EXPECT_NE(advice("read", {ErrorCode::kInternal, "x", 0}).find("report"), std::string::npos);
  EXPECT_NE(advice("open", {ErrorCode::kPermissionDenied, "x", EACCES}).find("ls -l"),
            std::string::npos);
  EXPECT_NE(AdviceOn(Logged("open", "a", {ErrorCode::kPermissionDenied, "x", EACCES}),
                     "s3://bucket/data", "/mnt")
                .find("credentials"),
            std::string::npos);
  EXPECT_NE(advice("setattr", {ErrorCode::kInvalidArgument, "x", 0}).find("rename"),
            std::string::npos);
  EXPECT_NE(advice("create", {ErrorCode::kInvalidArgument, "the grid has no such chunk", 0})
                .find("unshard info /data"),
            std::string::npos);
}

}  // namespace
}  // namespace unshard
