#include "store/http/response.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

TEST(ResponseTest, FieldsAreFoundInAnyCase) {
  const HttpHeaders headers = {{"Content-LENGTH", "1"}, {"content-length", "2"}};
  EXPECT_EQ(FindHeader(headers, "Content-Length"), "1");
  EXPECT_EQ(FindHeader(headers, "Content"), std::nullopt);
}

TEST(ResponseTest, LinesAreFields) {
  const auto header = ParseHeaderLine("ETag:\t \"a: b\" \r\n");
  ASSERT_TRUE(header);
  EXPECT_EQ(header->name, "ETag");
  EXPECT_EQ(header->value, "\"a: b\"");
  EXPECT_EQ(ParseHeaderLine("Empty:\r\n")->value, "");
  for (const char* line : {"", "\r\n", "no field\r\n", ": value\r\n", "two words: value\r\n"}) {
    EXPECT_FALSE(ParseHeaderLine(line)) << line;
  }
}

TEST(ResponseTest, ContentRanges) {
  const auto full = ParseContentRange("bytes 2-5/10");
  ASSERT_TRUE(full && full->range);
  EXPECT_EQ(*full->range, (ByteRange{2, 4}));
  EXPECT_EQ(full->total, 10u);
  const auto unknown = ParseContentRange("Bytes 0-0/*");
  ASSERT_TRUE(unknown && unknown->range);
  EXPECT_FALSE(unknown->total);
  const auto unsatisfied = ParseContentRange("bytes */10");
  ASSERT_TRUE(unsatisfied);
  EXPECT_FALSE(unsatisfied->range);
  EXPECT_EQ(unsatisfied->total, 10u);
  for (const char* value :
       {"", "bytes", "bytes 0-9", "items 0-9/10", "bytes 0-10/10", "bytes 5-4/10", "bytes -5/10",
        "bytes 5-/10", "bytes 0-9/", "bytes 0-9/1x", "bytes 0-18446744073709551615/*",
        "bytes 0-99999999999999999999/*", "bytes 0-9/10 trailing"}) {
    EXPECT_FALSE(ParseContentRange(value)) << value;
  }
}

TEST(ResponseTest, EntityTags) {
  EXPECT_EQ(ParseEntityTag(" \"5e2-3e8\" ")->quoted, "\"5e2-3e8\"");
  EXPECT_FALSE(ParseEntityTag("\"5e2-3e8\"")->weak);
  EXPECT_TRUE(ParseEntityTag("W/\"x\"")->weak);
  EXPECT_EQ(ParseEntityTag("W/\"x\"")->quoted, "\"x\"");
  for (const char* value :
       {"", "bare", "\"", "W/", "W/x", "w/\"x\"", "\"a\"b\"", "\"a b\"", "\"a\rX: y\""}) {
    EXPECT_FALSE(ParseEntityTag(value)) << value;
  }
}

TEST(ResponseTest, Dates) {
  EXPECT_EQ(ParseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
  EXPECT_EQ(ParseHttpDate("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
  for (const char* value : {"", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
                            "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Now 1994 08:49:37 GMT",
                            "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT"}) {
    EXPECT_FALSE(ParseHttpDate(value)) << value;
  }
}

TEST(ResponseTest, RetryAfterIsANumberOrADate) {
  EXPECT_EQ(ParseRetryAfter("120", 0), 120u);
  EXPECT_EQ(ParseRetryAfter("Thu, 01 Jan 1970 00:01:00 GMT", 20), 40u);
  EXPECT_EQ(ParseRetryAfter("Thu, 01 Jan 1970 00:01:00 GMT", 100), 0u);
  EXPECT_FALSE(ParseRetryAfter("-1", 0));
  EXPECT_FALSE(ParseRetryAfter("soon", 0));
}

TEST(ResponseTest, EncodingsInOrderWithoutThoseThatChangeNothing) {
  EXPECT_TRUE(ContentEncodings({{"Content-Encoding", "identity"}}).empty());
  EXPECT_EQ(ContentEncodings(
                {{"Content-Encoding", "aws-chunked, X-GZIP ,br"}, {"content-encoding", "zstd"}}),
            (std::vector<std::string>{"x-gzip", "br", "zstd"}));
}

Result<PartialContent> Check(const std::string& content_range, const AskedRange& asked,
                             std::uint64_t body_size) {
  return CheckPartialContent({{"Content-Range", content_range}}, asked, body_size);
}

TEST(ResponseTest, PartialContentIsWhatWasAskedForUpToTheEnd) {
  const auto inside = Check("bytes 2-5/10", {2, 4}, 4);
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->range, (ByteRange{2, 4}));
  EXPECT_EQ(inside->total, 10u);
  EXPECT_TRUE(Check("bytes 8-9/10", {8, 100}, 2)) << "cut at the end";
  EXPECT_TRUE(Check("bytes 8-9/10", {0, 2, true}, 2));
  EXPECT_TRUE(Check("bytes 0-9/10", {0, 20, true}, 10));
}

TEST(ResponseTest, PartialContentNamesWhatTheServerHasDoneWrong) {
  EXPECT_FALSE(CheckPartialContent({}, {0, 4}, 4));
  EXPECT_FALSE(Check("bytes 0-3/*", {0, 4}, 4)) << "no total";
  EXPECT_FALSE(Check("bytes */10", {0, 4}, 0));
  EXPECT_FALSE(Check("bytes 2-5/10", {2, 4}, 3)) << "a short body";
  EXPECT_FALSE(Check("bytes 0-3/10", {2, 4}, 4)) << "another range";
  EXPECT_FALSE(Check("bytes 2-3/10", {2, 4}, 2)) << "a part of the range";
  EXPECT_FALSE(Check("bytes 0-2/10", {0, 2, true}, 3)) << "the start in place of the end";
  const auto wrong = Check("bytes 0-3/10", {2, 4}, 4);
  EXPECT_NE(wrong.error().message.find("asked for 4 bytes at 2"), std::string::npos);
  EXPECT_EQ(wrong.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace unshard
