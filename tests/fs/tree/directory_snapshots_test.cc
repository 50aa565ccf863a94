#include "fs/tree/directory_snapshots.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

using Names = std::vector<DirectorySnapshots::Name>;

TEST(DirectorySnapshots, LongListsAreForgottenBeforeShortOnes) {
  DirectorySnapshots snapshots(10'000);
  const auto names = [](std::size_t count) { return Names(count, {std::string(90, 'n'), false}); };
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 8; ++i) numbers.push_back(snapshots.Put(names(1))->number);
  for (const std::uint64_t number : numbers) EXPECT_TRUE(snapshots.Get(number));
  numbers.push_back(snapshots.Put(names(1000))->number);
  EXPECT_FALSE(snapshots.Get(numbers[0])) << "used least recently";
  EXPECT_TRUE(snapshots.Get(numbers[7]));
  ASSERT_TRUE(snapshots.Get(numbers[8])) << "its listing goes on";
  EXPECT_EQ(snapshots.Get(numbers[8])->names.size(), 1000U);
  for (int i = 0; i < 4; ++i) numbers.push_back(snapshots.Put(names(1))->number);
  EXPECT_FALSE(snapshots.Get(numbers[8])) << "others have come since";
  for (int i = 0; i < 60; ++i) numbers.push_back(snapshots.Put(names(1))->number);
  EXPECT_TRUE(snapshots.Get(numbers[9])) << "within the bytes";
}

}  // namespace
}  // namespace unshard
