#include "store/sealed_name.h"

#include <gtest/gtest.h>

#include "store/spool.h"

namespace unshard {
namespace {

TEST(SealedName, SaysAllThereIsToKnow) {
  SpooledChunk chunk;
  chunk.chunk = "c/0/3";
  chunk.sequence = 17;
  chunk.size = 4096;
  chunk.crc32c = 0x1a2b3c4d;
  chunk.base = {false, 512, 0x5e6f7a8b};
  EXPECT_EQ(SealedName(chunk), "c%2F0%2F3,s17-f4096-1a2b3c4d-b512-5e6f7a8b");
  const auto parsed = ParseSealedName(SealedName(chunk));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->chunk, "c/0/3");
  EXPECT_EQ(parsed->sequence, 17U);
  EXPECT_FALSE(parsed->removed);
  EXPECT_EQ(parsed->size, 4096U);
  EXPECT_EQ(parsed->crc32c, 0x1a2b3c4dU);
  EXPECT_EQ(parsed->base, chunk.base);
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
  EXPECT_TRUE(parsed->base.absent);
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
