#include "store/object/bucket_objects.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/memory_store.h"

namespace unshard {
namespace {

// A bucket whose pages are `pages`, by what they are asked for with.
class BucketObjectsTest : public testing::Test {
 protected:
  BucketObjectsTest() { files_->Put("file", "text"); }

  std::shared_ptr<ObjectStore> Open() {
    return MakeBucketObjects(
        files_, [this](std::string_view, const std::string& next, std::size_t, const Deadline&) {
          ++requests_;
          return Result<ListedPage>(pages_.at(next));
        });
  }
  static ListedPage Empty(const std::string& next) {
    ListedPage page;
    page.next = next;
    return page;
  }

  const std::shared_ptr<MemoryStore> files_ = std::make_shared<MemoryStore>();
  std::map<std::string, ListedPage> pages_;
  int requests_ = 0;
};

TEST_F(BucketObjectsTest, AnObjectIsFoundWithoutAListing) {
  const auto found = Open()->Stat("file", Deadline::None());
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->kind, ObjectInfo::Kind::kFile);
  EXPECT_EQ(requests_, 0);
}

TEST_F(BucketObjectsTest, ADirectoryIsFoundBehindEmptyPages) {
  pages_ = {{"", Empty("1")}, {"1", Empty("2")}, {"2", {{{"name"}}, ""}}};
  const auto found = Open()->Stat("directory", Deadline::None());
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->kind, ObjectInfo::Kind::kDirectory);
  EXPECT_EQ(requests_, 3);
}

TEST_F(BucketObjectsTest, ADirectoryMayHoldNothingThatHasAName) {
  pages_[""].any = true;
  const auto found = Open()->Stat("directory", Deadline::None());
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->kind, ObjectInfo::Kind::kDirectory);
}

TEST_F(BucketObjectsTest, WhatNoPageNamesIsMissing) {
  pages_ = {{"", Empty("1")}, {"1", Empty("")}};
  const auto found = Open()->Stat("directory", Deadline::None());
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
}

TEST_F(BucketObjectsTest, PagesThatDoNotEndAreAFailure) {
  pages_ = {{"", Empty("1")}, {"1", Empty("1")}};
  const auto found = Open()->Stat("directory", Deadline::None());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnavailable);
}

TEST_F(BucketObjectsTest, WithoutTheRightToListThereAreFilesOnly) {
  const auto objects = MakeBucketObjects(files_, nullptr);
  EXPECT_FALSE(objects->capabilities().lists);
  EXPECT_FALSE(*objects->Stat("directory", Deadline::None()));
  EXPECT_TRUE(*objects->Stat("file", Deadline::None()));
  EXPECT_TRUE(objects->List("", Deadline::None(), [](const ListEntry&) { return true; }));
}

}  // namespace
}  // namespace unshard
