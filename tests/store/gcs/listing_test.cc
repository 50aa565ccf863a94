#include "store/gcs/listing.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace unshard {
namespace {

constexpr auto kFile = ObjectInfo::Kind::kFile;
constexpr auto kDirectory = ObjectInfo::Kind::kDirectory;
using Names = std::set<std::pair<std::string, ObjectInfo::Kind>>;

Names NamesIn(std::string_view text, std::string_view below) {
  Names names;
  const auto page = ParseGcsListPage(text, below);
  EXPECT_TRUE(page) << page.error().message;
  if (!page) return names;
  for (const auto& entry : page->entries) names.emplace(entry.name, entry.kind);
  return names;
}

TEST(GcsListingTest, NamesOfObjectsAndDirectories) {
  const char* const text = R"({"kind": "storage#objects", "nextPageToken": "t/1=",
    "prefixes": ["a/b/x/", "a/b/\u00e9/"], "items": [{"name": "a/b/0"}, {"name": "a/b/y z"}]})";
  EXPECT_EQ(NamesIn(text, "a/b/"),
            (Names{{"0", kFile}, {"y z", kFile}, {"x", kDirectory}, {"\xc3\xa9", kDirectory}}));
  EXPECT_EQ(ParseGcsListPage(text, "a/b/")->next, "t/1=");
  EXPECT_EQ(NamesIn(R"({"items": [{"name": "0"}]})", ""), (Names{{"0", kFile}}));
  EXPECT_TRUE(NamesIn("{}", "").empty());
  EXPECT_EQ(ParseGcsListPage("{}", "")->next, "");
}

TEST(GcsListingTest, AFolderIsThereAlsoWithoutANameInIt) {
  for (const char* const text : {R"({"items": [{"name": "a/"}]})", R"({"prefixes": ["a//"]})",
                                 R"({"items": [{"name": "a/b"}]})"}) {
    EXPECT_TRUE(ParseGcsListPage(text, "a/")->any) << text;
  }
  EXPECT_FALSE(ParseGcsListPage("{}", "a/")->any);
  EXPECT_FALSE(ParseGcsListPage(R"({"items": [{"name": "b/"}]})", "a/")->any);
}

TEST(GcsListingTest, AnObjectHidesTheDirectoryOfItsName) {
  const char* const text = R"({"prefixes": ["a/"], "items": [{"name": "a"}]})";
  EXPECT_EQ(NamesIn(text, ""), (Names{{"a", kFile}}));
}

TEST(GcsListingTest, NamesThatLeadElsewhereAreLeftOut) {
  EXPECT_TRUE(NamesIn(R"({"items": [{"name": "a/"}, {"name": "b/c"}, {"name": "a/.."},
    {"name": "a/."}, {"name": "a/b/c"}, {"name": "a/b\u0000"}, {"name": 7}, 8, {}],
    "prefixes": ["a/", "a//", "a/../", "a/./", "b/c/", "a/b/c/", "a/b", 7, null]})",
                      "a/")
                  .empty());
}

TEST(GcsListingTest, NamesThatNoPathCanHaveAreLeftOut) {
  const std::string longest(255, 'x');
  const std::string text = R"({"items": [{"name": ")" + longest + R"("}, {"name": ")" + longest +
                           R"(x"}], "prefixes": [")" + longest + R"(y/"]})";
  EXPECT_EQ(NamesIn(text, ""), (Names{{longest, kFile}}));
}

TEST(GcsListingTest, WhatIsNoListingIsAnError) {
  for (const char* text : {"", "[]", "<html>", R"({"items": [)"}) {
    const auto page = ParseGcsListPage(text, "");
    ASSERT_FALSE(page) << text;
    EXPECT_EQ(page.error().code, ErrorCode::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace unshard
