#include "store/remote/scratch_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

// While it lives, files of this process end at this size: EFBIG beyond.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    before_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*before_handler_)(int) = nullptr;
};

TEST(ScratchFileTest, WhatIsWrittenIsReadAndTheRestIsShort) {
  const TemporaryDirectory directory;
  const auto file = ScratchFile::Make(directory.path());
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE((*file)->Write(2, AsBytes("text")));
  std::array<std::uint8_t, 10> read{};
  const auto size = (*file)->Read(0, read);
  ASSERT_TRUE(size) << size.error().message;
  EXPECT_EQ(*size, 6u);
  EXPECT_EQ(AsText(ByteSpan(read).first(6)), std::string_view("\0\0text", 6));
}

TEST(ScratchFileTest, FailuresNameTheDirectory) {
  const TemporaryDirectory directory;
  const auto file = ScratchFile::Make(directory.path());
  ASSERT_TRUE(file) << file.error().message;
  const FileSizeLimit limit(4096);
  const Status written = (*file)->Write(4096, AsBytes("beyond"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().system_errno, EFBIG);
  EXPECT_TRUE(written.error().message.starts_with(directory.path() + ": a temporary file: writing"))
      << written.error().message;
  const Status truncated = (*file)->Truncate(8192);
  ASSERT_FALSE(truncated);
  EXPECT_TRUE(
      truncated.error().message.starts_with(directory.path() + ": a temporary file: truncating"))
      << truncated.error().message;
  const auto missing = ScratchFile::Make(directory.path() + "/missing");
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().message.starts_with(directory.path() + "/missing: making"))
      << missing.error().message;
}

}  // namespace
}  // namespace unshard
