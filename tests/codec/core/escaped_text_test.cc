#include "codec/core/escaped_text.h"

#include <gtest/gtest.h>

#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"

namespace unshard {
namespace {

TEST(EscapedTextTest, EveryByteSurvivesAndJsonIsAlwaysLegal) {
  const std::string texts[] = {"",
                               "plain/name",
                               "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80",
                               "back\\slash and \\x41",
                               "\xff\xfe",
                               "cut \xc3",
                               "overlong \xc0\xaf \xe0\x80\xaf \xf0\x80\x80\xaf",
                               "surrogate \xed\xa0\x80\xed\xb0\x80",
                               "too large \xf4\x90\x80\x80 \xf8\x88\x80\x80\x80",
                               std::string("nul \0 and\nline", 13),
                               "\x1b[31m"};
  for (const std::string& text : texts) {
    const std::string escaped = EscapeBytes(text);
    EXPECT_EQ(UnescapeBytes(escaped), text);
    const auto parsed = ParseJson(WriteJson(JsonValue::String(escaped)));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->text(), escaped);
  }
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(UnescapeBytes(EscapeBytes(all)), all);
}

TEST(EscapedTextTest, OrdinaryNamesAreNotChanged) {
  for (const char* name :
       {"/data/segmentation", "gr\xc3\xbc\xc3\x9f", "a b,c\"d", "back\\slash \\xff"}) {
    EXPECT_EQ(EscapeBytes(name), name);
    EXPECT_EQ(Printable(name), name);
  }
  EXPECT_EQ(EscapeBytes("a\xff"), std::string("a\0ff", 4));
}

TEST(EscapedTextTest, TextThatWasNeverEscapedIsReturnedAsItIs) {
  using namespace std::string_literals;
  for (const std::string& text : {"a\0g0"s,
                                  "a\0"
                                  "4"s,
                                  "a\0"s,
                                  "a\0\0"
                                  "00"s}) {
    EXPECT_EQ(UnescapeBytes(text), text);
  }
}

TEST(EscapedTextTest, NothingInANameReachesATerminalAsACommand) {
  EXPECT_EQ(Printable("a\x1b[2Jb\r\n\x7f"), "a\\x1b[2Jb\\x0d\\x0a\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m \x9b"),
            "\\xc2\\x9b31m \\x9b");
  EXPECT_EQ(Printable("back\\slash"), "back\\slash");
}

}  // namespace
}  // namespace unshard
