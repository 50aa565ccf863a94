// Files of the source that are open as they are.
#include "fs/write/open_file.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "store/local/posix_file_system.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

// The length divides that of a page, so that the kernel sends each in one piece.
std::string Record(char writer, int number) {
  std::string digits = std::to_string(number);
  return writer + std::string(14 - digits.size(), '0') + digits + '\n';
}

TEST(OpenSourceFile, WhatTwoAppendIsThere) {
  constexpr int kRecords = 3000;
  const TemporaryDirectory directory;
  directory.Write("log", "");
  const auto files = *OpenPosixFileSystem(directory.path());
  const auto append = [&](char writer) {
    const auto file = *files->Open("log", {.write = true});
    OpenSourceFile open(2, {.write = true}, file, [] { return Status(); });
    for (int i = 0; i < kRecords; ++i) {
      const Status appended = open.Write(OpenFile::kAppend, AsBytes(Record(writer, i)));
      EXPECT_TRUE(appended) << appended.error().message;
    }
  };
  std::thread other([&] { append('a'); });
  append('b');
  other.join();
  std::ifstream log(directory.At("log"));
  std::set<std::string> lines;
  for (std::string line; std::getline(log, line);) lines.insert(line + '\n');
  EXPECT_EQ(lines.size(), 2U * kRecords);
  for (int i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(lines.contains(Record('a', i)) && lines.contains(Record('b', i))) << i;
  }
}

}  // namespace
}  // namespace unshard
