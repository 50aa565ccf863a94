// Look-ups and listings of a central directory, and the archives that are refused.
#include "store/zip/zip_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/zip_archives.h"

namespace unshard {
namespace {

Result<ZipDirectory> DirectoryOf(std::string_view archive, std::size_t piece = 1 << 20) {
  UNSHARD_ASSIGN_OR_RETURN(const ZipEnd end, ParseZipEnd(AsBytes(archive), archive.size()));
  UNSHARD_ASSIGN_OR_RETURN(auto reader, ZipDirectoryReader::Begin(end));
  ByteSpan rest = AsBytes(archive).subspan(end.directory.begin, end.directory.size);
  while (!rest.empty()) {
    const std::size_t size = std::min(piece, rest.size());
    UNSHARD_RETURN_IF_ERROR(reader.Add(rest.first(size)));
    rest = rest.subspan(size);
  }
  return reader.Finish();
}

using Listing = std::map<std::string, ObjectInfo::Kind>;

// All entries, `at_once` in each call.
Listing List(const ZipDirectory& directory, const std::string& key, int at_once) {
  Listing found;
  std::uint64_t resume = 0;
  for (bool more = true; more;) {
    more = false;
    int visited = 0;
    directory.ListFrom(key, resume, [&](const ListEntry& entry) {
      EXPECT_TRUE(found.emplace(entry.name, entry.kind).second) << entry.name;
      resume = entry.resume;
      more = true;
      return ++visited < at_once;
    });
  }
  return found;
}

TEST(ZipDirectoryTest, ListsAndFindsWhatAMapOfTheSameNamesDoes) {
  std::mt19937 random(7);
  // Bytes around '/' in their order, and above 127.
  const std::vector<std::string> words = {"a", "b", "a-", "a.", "a!", "0", "c", "a0", "\xC3\xBC"};
  for (int round = 0; round < 50; ++round) {
    std::map<std::string, std::string> files;
    std::map<std::string, Listing> expected{{"", {}}};
    const std::size_t count = random() % 60;
    for (std::size_t i = 0; i < count; ++i) {
      std::string name = "f" + words[random() % words.size()];
      std::vector<std::string> path;
      for (std::size_t depth = random() % 4; depth > 0; --depth) {
        path.push_back(words[random() % words.size()]);
      }
      std::string at;
      for (const std::string& directory : path) {
        expected[at][directory] = ObjectInfo::Kind::kDirectory;
        at += (at.empty() ? "" : "/") + directory;
      }
      expected[at][name] = ObjectInfo::Kind::kFile;
      files[(at.empty() ? "" : at + "/") + name] = std::to_string(i);
    }
    std::vector<ZipFile> shuffled;
    for (const auto& [name, text] : files) shuffled.push_back({name, text});
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const auto directory = DirectoryOf(ZipOf(shuffled), random() % 100 + 1);
    ASSERT_TRUE(directory) << directory.error().message;
    EXPECT_EQ(directory->size(), files.size());
    for (const auto& [key, listing] : expected) {
      EXPECT_TRUE(directory->IsDirectory(key)) << key;
      EXPECT_FALSE(directory->Find(key)) << key;
      for (const int at_once : {1, 3, 1000}) EXPECT_EQ(List(*directory, key, at_once), listing);
    }
    for (const auto& [name, text] : files) {
      const auto number = directory->Find(name);
      ASSERT_TRUE(number) << name;
      EXPECT_EQ(directory->entry(*number).size, text.size());
      EXPECT_FALSE(directory->IsDirectory(name));
      EXPECT_FALSE(directory->Find(name + "0x"));
    }
  }
}

TEST(ZipDirectoryTest, OfSeveralEntriesOfOneNameTheLastCounts) {
  const auto directory = DirectoryOf(ZipOf({{"a", "1"}, {"b", "22"}, {"a", "333"}, {"a", "4444"}}));
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->size(), 2u);
  EXPECT_EQ(directory->entry(*directory->Find("a")).size, 4u);
}

TEST(ZipDirectoryTest, NamesOfDirectoriesAndOfOtherSystemsAreKeys) {
  const auto directory =
      DirectoryOf(ZipOf({{"./", ""}, {"./a/", ""}, {"./a/b/", ""}, {"c\\d", "x"}, {"./e", "y"}}));
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_TRUE(directory->IsDirectory("a/b"));
  EXPECT_TRUE(directory->Find("c/d"));
  EXPECT_TRUE(directory->Find("e"));
  EXPECT_EQ(List(*directory, "", 2), (Listing{{"a", ObjectInfo::Kind::kDirectory},
                                              {"c", ObjectInfo::Kind::kDirectory},
                                              {"e", ObjectInfo::Kind::kFile}}));
  EXPECT_TRUE(List(*directory, "a/b", 2).empty());
}

TEST(ZipDirectoryTest, NamesThatLeaveTheArchiveAndContradictionsAreRefused) {
  for (const std::string name : {"../a", "a/../b", "/a", "//", "/", "a//b", "a/./b", "..\\a", "\\a",
                                 "", "a/..", "..", "a/../"}) {
    const auto directory = DirectoryOf(ZipOf({{"zarr.json", "{}"}, {name, "x"}}));
    ASSERT_FALSE(directory) << name;
    EXPECT_EQ(directory.error().code, ErrorCode::kDataLoss) << name;
    EXPECT_NE(directory.error().message.find("the entry '"), std::string::npos) << name;
  }
  const auto both = DirectoryOf(ZipOf({{"a/b", "x"}, {"a-", "y"}, {"a", "z"}}));
  ASSERT_FALSE(both);
  EXPECT_NE(both.error().message.find("the entry 'a': is a file"), std::string::npos);
  const auto as_directory = DirectoryOf(ZipOf({{"a/", ""}, {"a", "z"}}));
  EXPECT_FALSE(as_directory);
}

TEST(ZipDirectoryTest, ADirectoryThatDoesNotFitItsEndRecordIsRefused) {
  const std::string archive = ZipOf({{"a", "text"}, {"b", "more"}});
  const auto end = ParseZipEnd(AsBytes(archive), archive.size());
  ASSERT_TRUE(end);
  const std::size_t record = end->directory.size / 2;
  const auto changed = [&](std::size_t at, char value) {
    std::string bytes = archive;
    bytes[at] = value;
    return DirectoryOf(bytes);
  };
  const std::size_t begin = end->directory.begin;
  EXPECT_FALSE(changed(begin, 'x')) << "the signature";
  EXPECT_FALSE(changed(begin + 20, 5)) << "two sizes";
  EXPECT_FALSE(changed(begin + record + 42, 127)) << "the offset";
  EXPECT_FALSE(changed(begin + 30, 1)) << "the length of the extra field";
  EXPECT_FALSE(changed(begin + 34, 1)) << "another part";
  ZipEnd one = *end;
  one.entries = 1;
  auto reader = ZipDirectoryReader::Begin(one);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->Add(AsBytes(archive).subspan(begin, end->directory.size)));
  EXPECT_FALSE(reader->Finish()) << "the number of entries";
}

TEST(ZipDirectoryTest, MoreThanMemoryIsMeantForIsRefusedBeforeItIsRead) {
  ZipEnd end;
  end.entries = ZipDirectoryReader::kMostEntries + 1;
  end.directory = {0, end.entries * kZipRecordBytes};
  const auto many = ZipDirectoryReader::Begin(end);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ErrorCode::kResourceExhausted);
  end.entries = 1;
  end.directory.size = ZipDirectoryReader::kMostBytes + 1;
  EXPECT_FALSE(ZipDirectoryReader::Begin(end));
}

TEST(ZipDirectoryTest, AWriterThatCountsEntriesIn16BitsIsRead) {
  std::vector<ZipFile> files;
  for (int i = 0; i < 0x10003; ++i) files.push_back({std::to_string(i), ""});
  std::string archive = ZipOf(files);
  // The end record alone, without that of ZIP64, as if its count were small enough.
  const auto end = ParseZipEnd(AsBytes(archive), archive.size());
  ASSERT_TRUE(end);
  archive.erase(end->directory.end(), 76);
  archive[archive.size() - 14] = archive[archive.size() - 12] = 3;
  archive[archive.size() - 13] = archive[archive.size() - 11] = 0;
  const auto directory = DirectoryOf(archive);
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_EQ(directory->size(), 0x10003u);
  EXPECT_EQ(List(*directory, "", 1000).size(), 0x10003u);
}

}  // namespace
}  // namespace unshard
