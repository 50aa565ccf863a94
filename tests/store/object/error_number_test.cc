#include "store/object/error_number.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

namespace unshard {
namespace {

TEST(ErrorNumberTest, ACallerWhoseWaitWasEndedGetsTheReason) {
  for (const int number : {EINTR, ETIMEDOUT}) {
    EXPECT_EQ(ErrnoOf(FailErrno(number, "waiting").value()), number);
  }
}

TEST(ErrorNumberTest, EveryCodeHasItsErrno) {
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

TEST(ErrorNumberTest, AFullOrExhaustedSystemIsToldAsItIs) {
  for (const int number : {ENOSPC, EDQUOT, ENAMETOOLONG, EMFILE, ENFILE, ENOMEM}) {
    EXPECT_EQ(ErrnoOf(Error{ErrorCode::kResourceExhausted, "", number}), number);
  }
}

// Links of the source that lead in a circle are no mistake of the caller.
TEST(ErrorNumberTest, ALoopOfLinksIsToldAsOne) {
  EXPECT_EQ(ErrnoOf(FailErrno(ELOOP, "opening a shard").value()), ELOOP);
}

TEST(ErrorNumberTest, DamageIsNeverTakenForAMissingFile) {
  for (const int number : {0, ENOENT, ENOTDIR, EISDIR, ESTALE}) {
    EXPECT_EQ(ErrnoOf(Error{ErrorCode::kDataLoss, "", number}), EIO) << number;
  }
}

TEST(ErrorNumberTest, ErrnosAreNamed) {
  EXPECT_EQ(ErrnoName(EIO), "EIO");
  EXPECT_EQ(ErrnoName(ESTALE), "ESTALE");
  EXPECT_EQ(ErrnoName(123456), "123456");
}

}  // namespace
}  // namespace unshard
