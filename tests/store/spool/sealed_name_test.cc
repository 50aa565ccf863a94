#include "store/spool/sealed_name.h"

#include <gtest/gtest.h>

#include "store/spool/spool.h"

namespace unshard {
namespace {

TEST(SealedName, SaysAllThereIsToKnow) {
  SpooledChunk chunk;
  chunk.chunk = "c/0/3";
  chunk.sequence = 17;
  chunk.size = 4096;
  chunk.checksum = 0x1a2b3c4d;
  chunk.terms.base = {false, 512, 0x5e6f7a8b};
  EXPECT_EQ(SealedName(chunk), "c%2F0%2F3,s17-f4096-1a2b3c4d-b512-5e6f7a8b");
  const auto parsed = ParseSealedName(SealedName(chunk));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->chunk, "c/0/3");
  EXPECT_EQ(parsed->sequence, 17U);
  EXPECT_FALSE(parsed->removed);
  EXPECT_EQ(parsed->size, 4096U);
  EXPECT_EQ(parsed->checksum, 0x1a2b3c4dU);
  EXPECT_EQ(parsed->terms.base, chunk.terms.base);
}

TEST(SealedName, RemovalsAndNewChunks) {
  SpooledChunk chunk;
  chunk.chunk = "1:0,%";
  chunk.sequence = UINT64_MAX;
  chunk.removed = true;
  EXPECT_EQ(SealedName(chunk), "1:0,%25,s18446744073709551615-r-a");
  const auto parsed = ParseSealedName(SealedName(chunk));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->chunk, "1:0,%");
  EXPECT_TRUE(parsed->removed);
  EXPECT_TRUE(parsed->terms.base.absent);
}

TEST(SealedName, TheLayoutAndTheVersionThatItCountsWith) {
  SpooledChunk chunk;
  chunk.chunk = "c/0";
  chunk.sequence = 5;
  chunk.removed = true;
  chunk.terms = {{false, 3, 0x0a}, ChunkFingerprint{}, 0x9c0d1e2f};
  chunk.only_with = 6;
  EXPECT_EQ(SealedName(chunk), "c%2F0,s5-r-b3-0000000a-a-l9c0d1e2f-w6");
  const auto parsed = ParseSealedName(SealedName(chunk));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->terms.layout, 0x9c0d1e2fU);
  EXPECT_EQ(parsed->terms.other_base, ChunkFingerprint{});
  EXPECT_EQ(parsed->only_with, 6U);
  chunk.removed = false;
  EXPECT_EQ(SealedName(chunk), "c%2F0,s5-f0-00000000-b3-0000000a-a-l9c0d1e2f-w6");
  EXPECT_EQ(ParseSealedName(SealedName(chunk))->only_with, 6U);
  SpooledChunk file;
  file.chunk = "notes.txt";
  file.sequence = 7;
  file.size = 2;
  file.terms.whole_file = true;
  EXPECT_EQ(SealedName(file), "notes.txt,s7-f2-00000000-a-o");
  const auto whole = ParseSealedName(SealedName(file));
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->terms.whole_file);
  EXPECT_FALSE(parsed->terms.whole_file);
  // Seals of earlier releases.
  const auto earlier = ParseSealedName("x,s1-f2-00000003-a");
  ASSERT_TRUE(earlier);
  EXPECT_FALSE(earlier->terms.layout);
  EXPECT_EQ(earlier->only_with, 0U);
}

TEST(SealedName, AnyOtherNameIsNone) {
  ASSERT_TRUE(ParseSealedName("x,s1-f2-00000003-a"));
  for (const char* name : {"",
                           ",",
                           "x",
                           ".path",
                           ",s1-f2-00000003-a",
                           "x,s1-f2-00000003",
                           "x,s1-f2-00000003-",
                           "x,s1-f2-00000003-aa",
                           "x,s1-f2-3-a",
                           "x,s1-f2-0000000G-a",
                           "x,s1-f2-0000000A-a",
                           "x,s01-f2-00000003-a",
                           "x,s-1-f2-00000003-a",
                           "x,s+1-f2-00000003-a",
                           "x,s1-f-00000003-a",
                           "x,s18446744073709551616-r-a",
                           "x,s1-r-b1",
                           "x,s1-r-b1-0000000",
                           "x,s1-r-a-b1",
                           "x,s1-r-a-l1",
                           "x,s1-r-a-l0000000A",
                           "x,s1-r-a-l00000001-a",
                           "x,s1-r-a-w0",
                           "x,s1-r-a-w",
                           "x,s1-f2-00000003-w2-a",
                           "x,s1-r0-00000000-a",
                           "a/b,s1-r-a",
                           "a%2f,s1-r-a",
                           "a%2,s1-r-a",
                           "a%41,s1-r-a",
                           "..,s1-r-a",
                           "a%2F%2Fb,s1-r-a",
                           "%2Fa,s1-r-a",
                           "x,s1-f2-00000003-a ",
                           " x,t1-r-a"}) {
    EXPECT_FALSE(ParseSealedName(name)) << name;
  }
}

TEST(SealedName, DatasetsAreDirectories) {
  EXPECT_EQ(DatasetDirectory(""), "%2E");
  EXPECT_EQ(DatasetDirectory("8_8_8"), "8_8_8");
  EXPECT_EQ(DatasetDirectory("a/b%c"), "a%2Fb%25c");
  const std::string one = DatasetDirectory(std::string(400, 'x') + "1");
  const std::string two = DatasetDirectory(std::string(400, 'x') + "2");
  EXPECT_NE(one, two);
  EXPECT_LE(one.size(), kMaxFileName);
}

}  // namespace
}  // namespace unshard
