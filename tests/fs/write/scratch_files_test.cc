#include "fs/write/scratch_files.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace unshard {
namespace {

ScratchFiles::StagedPtr NewFile() {
  return std::make_shared<StagedInode>(nullptr, StagedInode::Scratch{}, nullptr, 1);
}

int ErrnoIn(const Status& status) { return status ? 0 : status.error().system_errno; }

TEST(ScratchFilesTest, ADirectoryMovesWithAllThatIsInIt) {
  ScratchFiles scratch;
  const auto outer = scratch.MakeDirectory("a/c", "out");
  const auto inner = scratch.MakeDirectory("a/c/out", "in");
  ASSERT_TRUE(outer && inner);
  const auto file = NewFile();
  EXPECT_TRUE(scratch.Add("a/c/out/in", "file", file));
  EXPECT_TRUE(scratch.Add("a/c/out.old", "file", NewFile())) << "a neighbour in the order of paths";
  EXPECT_EQ(ErrnoIn(scratch.Rename("a/c", "out", "a/c/5", "moved")), 0);
  EXPECT_EQ(scratch.PathOf(**outer), "a/c/5/moved");
  EXPECT_EQ(scratch.PathOf(**inner), "a/c/5/moved/in");
  EXPECT_EQ(scratch.PathOf(*file), "a/c/5/moved/in/file");
  EXPECT_EQ(scratch.Find("a/c/5/moved/in", "file").file, file);
  EXPECT_FALSE(scratch.Find("a/c/out/in", "file"));
  EXPECT_TRUE(scratch.Find("a/c/out.old", "file"));
  EXPECT_EQ(scratch.NamesAbove("a/c"), (std::set<std::string>{"5", "out.old"}));
  EXPECT_EQ(scratch.NamesAbove("a"), std::set<std::string>{"c"});
}

TEST(ScratchFilesTest, OnlyEmptyDirectoriesGoAndAreReplaced) {
  ScratchFiles scratch;
  const auto one = scratch.MakeDirectory("c", "one");
  const auto two = scratch.MakeDirectory("c", "two");
  ASSERT_TRUE(one && two);
  EXPECT_EQ(scratch.MakeDirectory("c", "one").error().system_errno, EEXIST);
  EXPECT_FALSE(scratch.Add("c", "one", NewFile()));
  EXPECT_TRUE(scratch.Add("c/one", "file", NewFile()));
  EXPECT_EQ(ErrnoIn(scratch.RemoveDirectory("c", "one")), ENOTEMPTY);
  EXPECT_EQ(ErrnoIn(scratch.RemoveDirectory("c/one", "file")), ENOTDIR);
  EXPECT_EQ(ErrnoIn(scratch.RemoveDirectory("c", "none")), ENOENT);
  EXPECT_EQ(ErrnoIn(scratch.Rename("c", "two", "c", "one")), ENOTEMPTY);
  EXPECT_EQ(ErrnoIn(scratch.Rename("c/one", "file", "c", "two")), EISDIR);
  EXPECT_FALSE(scratch.Rename("c", "one", "c/one", "below"));
  EXPECT_EQ(ErrnoIn(scratch.Rename("c", "one", "c", "two")), 0);
  EXPECT_EQ(scratch.PathOf(**two), std::nullopt) << "replaced";
  EXPECT_EQ(scratch.Remove("c", "two"), nullptr) << "a directory is not unlinked";
  EXPECT_NE(scratch.Remove("c/two", "file"), nullptr);
  EXPECT_EQ(ErrnoIn(scratch.RemoveDirectory("c", "two")), 0);
  EXPECT_EQ(scratch.PathOf(**one), std::nullopt);
  EXPECT_TRUE(scratch.Names("c").empty());
}

TEST(ScratchFilesTest, TheNamesOfAFileAreCounted) {
  ScratchFiles scratch;
  const auto file = NewFile();
  const auto other = NewFile();
  EXPECT_EQ(scratch.Links(*file), 0u);
  EXPECT_TRUE(scratch.Add("c", "a", file));
  EXPECT_FALSE(scratch.Add("c", "a", file));
  EXPECT_TRUE(scratch.Add("d", "a", file));
  EXPECT_TRUE(scratch.Add("c", "other", other));
  EXPECT_EQ(scratch.Links(*file), 2u);
  EXPECT_EQ(ErrnoIn(scratch.Rename("c", "a", "d", "b")), 0);
  EXPECT_EQ(scratch.Links(*file), 2u);
  EXPECT_EQ(ErrnoIn(scratch.Rename("d", "b", "c", "other")), 0);
  EXPECT_EQ(scratch.Links(*file), 2u);
  EXPECT_EQ(scratch.Links(*other), 0u) << "replaced";
  EXPECT_EQ(scratch.Remove("c", "other"), file);
  EXPECT_EQ(scratch.Remove("c", "other"), nullptr);
  EXPECT_EQ(scratch.Links(*file), 1u);
  EXPECT_EQ(scratch.Remove("d", "a"), file);
  EXPECT_EQ(scratch.Links(*file), 0u);
}

TEST(ScratchFilesTest, TheNumberOfDirectoriesIsBounded) {
  ScratchFiles scratch;
  for (std::size_t i = 0; i < ScratchFiles::kMaxDirectories; ++i) {
    ASSERT_TRUE(scratch.MakeDirectory("c", std::to_string(i)));
  }
  EXPECT_EQ(scratch.MakeDirectory("c", "more").error().system_errno, ENOSPC);
  EXPECT_TRUE(scratch.RemoveDirectory("c", "0"));
  EXPECT_TRUE(scratch.MakeDirectory("c", "more"));
}

}  // namespace
}  // namespace unshard
