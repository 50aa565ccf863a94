#include "codec/json/json.h"

#include <gtest/gtest.h>

#include <ctime>
#include <limits>
#include <string>

#include "codec/json/meaning.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"

namespace unshard {
namespace {

// The tree of a text that must be good.
JsonValue Parsed(std::string_view text) {
  auto value = ParseJson(text);
  EXPECT_TRUE(value) << text << ": " << (value ? "" : value.error().message);
  return value ? *std::move(value) : JsonValue();
}

// The message with which a text is refused.
std::string Refusal(std::string_view text, const JsonLimits& limits = {}) {
  const auto value = ParseJson(text, limits);
  EXPECT_FALSE(value) << text;
  if (value) return "";
  EXPECT_EQ(value.error().code, ErrorCode::kDataLoss);
  return value.error().message;
}

TEST(Json, NumberTokensSurviveVerbatim) {
  for (const std::string token :
       {"0", "-0", "1.0", "-0.0", "1e999", "-1E+400", "1e-999", "0.10000000000000000001",
        "18446744073709551615", "18446744073709551616", "123456789012345678901234567890",
        "-9223372036854775809", "1E5", "NaN", "Infinity", "-Infinity"}) {
    const JsonValue alone = Parsed(token);
    EXPECT_TRUE(alone.is_number());
    EXPECT_EQ(alone.text(), token);
    const JsonValue nested =
        Parsed("{\"a\": [" + token + ",\n" + token + " ], \"b\":" + token + "}");
    EXPECT_EQ(WriteJson(nested, 0),
              "{\"a\": [" + token + ", " + token + "], \"b\": " + token + "}");
  }
}

TEST(Json, MembersKeepTheirOrder) {
  EXPECT_EQ(WriteJson(Parsed(R"({"z":1,"a":{"y":2,"b":[]},"m":null})"), 0),
            R"({"z": 1, "a": {"y": 2, "b": []}, "m": null})");
}

TEST(Json, NumbersWithinStringsAreLeftAlone) {
  EXPECT_EQ(Parsed(R"("NaN \" -1 Infinity \\")").text(), "NaN \" -1 Infinity \\");
  EXPECT_EQ(Parsed(R"(["1", 2, "\\", 3, "\"4"])").items()[3].text(), "3");
}

TEST(Json, MalformedTextIsRefusedWithLineAndColumn) {
  for (const std::string_view text :
       {"",        " ",           "{",      "[",     "[1,]", "{\"a\":}", "{\"a\" 1}", "{a:1}",
        "01",      "-",           "+1",     ".5",    "1.",   "1e",       "1e+",       "0x10",
        "1 2",     "[1 2]",       "1x",     "[1-]",  "nan",  "-NaN",     "NaNs",      "1NaN",
        "Infinit", "{NaN: 1}",    "{1: 1}", "\"",    "\"\\", "\"\\x\"",  "\"\n\"",    "'a'",
        "tru",     "nulls",       "]",      "}",     "[}",   "// c\n1",  "/**/1",     "{\"a\":1}x",
        "[1]\"",   "\"\\ud800\"", "1\"{\"", "[1:2]", "--1"}) {
    EXPECT_NE(Refusal(text).find("line "), std::string::npos) << text;
  }
  EXPECT_EQ(Refusal("{\n  \"a\": 1,\n  \"b\": tru\n}").substr(0, 6), "line 3");
  EXPECT_EQ(Refusal("[1,\n 22, ?]").substr(0, 17), "line 2, column 6:");
}

TEST(Json, ZeroBytesDoNotEndTheText) {
  EXPECT_EQ(Refusal(std::string_view("{}\0{}", 5)),
            "line 1, column 3: expected a value, found a zero byte");
  EXPECT_FALSE(ParseJson(std::string_view("\"a\0\"", 4)));
}

TEST(Json, BytesThatAreNotUtf8AreRefused) {
  for (const std::string_view text : {"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
                                      "\"\xe2\x82\"", "\"\xf5\x80\x80\x80\"", "\"\x80\"", "\xfe"}) {
    Refusal(text);
  }
  EXPECT_EQ(Parsed("\"\xe2\x82\xac \xf0\x9f\x92\xa9\"").text(), "€ 💩");
  EXPECT_EQ(Parsed(R"("\u20ac \ud83d\udca9")").text(), "€ 💩");
}

TEST(Json, AMemberThatOccursTwiceIsRefused) {
  EXPECT_EQ(Refusal("{\"x\": {},\n \"o\": {\"a\": 1, \"b\": 2, \"a\": 1}}"),
            "line 2, column 7: the member \"a\" occurs twice in this object");
  EXPECT_FALSE(ParseJson(R"({"a": 1, "\u0061": 2})"));
  EXPECT_TRUE(ParseJson(R"({"a": {"a": {"a": 1}}, "b": {"a": 1}})"));
}

TEST(Json, DepthIsBounded) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(ParseJson(nested(64)));
  EXPECT_EQ(Refusal(nested(65)), "line 1, column 65: expected at most 64 levels of nesting");
  EXPECT_FALSE(ParseJson(std::string(5'000'000, '[')));
  EXPECT_TRUE(ParseJson("[[],[],[]]", {.max_depth = 2}));
  EXPECT_FALSE(ParseJson("[[],[{}],[]]", {.max_depth = 2}));
  EXPECT_TRUE(ParseJson("[\"[[[[\"]", {.max_depth = 1}));
}

TEST(Json, SizeIsBounded) {
  EXPECT_TRUE(ParseJson("[1]", {.max_bytes = 3}));
  EXPECT_EQ(Refusal("[10]", {.max_bytes = 3}),
            "line 1, column 4: expected at most 3 bytes of JSON");
}

TEST(Json, ValuesAreBounded) {
  EXPECT_TRUE(ParseJson(R"({"a": [1, "b"], "c": {}})", {.max_values = 5}));
  EXPECT_EQ(Refusal(R"({"a": [1, "b"], "c": {}})", {.max_values = 4}),
            "line 1, column 22: expected at most 4 values in one JSON document");
  EXPECT_EQ(Refusal("[0,\n 0, \"x\"]", {.max_values = 3}),
            "line 2, column 7: expected at most 3 values in one JSON document");
  EXPECT_LE(sizeof(JsonValue), 40u) << "documents of some MiB have millions of values";
}

TEST(Json, ByteOrderMarkIsSkipped) { EXPECT_TRUE(Parsed("\xef\xbb\xbf{\"a\": 1}").is_object()); }

TEST(Json, ManyMembersAreReadInReasonableTime) {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i)
    text += "\"k" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  text.back() = '}';
  const JsonValue value = Parsed(text);
  EXPECT_EQ(value.members().size(), 100'000U);
  EXPECT_EQ(value.members()[99'999].second.text(), "99999");
  EXPECT_TRUE(value == Parsed(text));
}

TEST(Json, StringsAreEscapedAsPythonDoes) {
  EXPECT_EQ(WriteJson(JsonValue::String(std::string("\"\\/\b\f\n\r\t\x01\x1f\x7f\0€", 15)), 0),
            "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\\u0000€\"");
}

TEST(Json, IndentedTextKeepsPlainArraysOnOneLine) {
  EXPECT_EQ(WriteJson(Parsed(R"({"size":[1,2,3],"scales":[{"key":"a"},{}],"e":[],"o":{}})")),
            "{\n"
            "  \"size\": [1, 2, 3],\n"
            "  \"scales\": [\n"
            "    {\n"
            "      \"key\": \"a\"\n"
            "    },\n"
            "    {}\n"
            "  ],\n"
            "  \"e\": [],\n"
            "  \"o\": {}\n"
            "}");
}

TEST(Json, WrittenTextReadsBackEqual) {
  const JsonValue value =
      Parsed(R"({"a": [true, false, null, {"b": "\u0000\n€", "c": [[1], [-0]]}], "d": 1e999})");
  for (const int indent : {0, 1, 2, 4}) EXPECT_TRUE(Parsed(WriteJson(value, indent)) == value);
}

TEST(Json, ADocumentIsWrittenNoLongerThanItMayBeReadAgain) {
  const std::string compact = R"({"a":[[1],[2,3],{}],"b":{"c":"\u0001 , : "},"d":[]})";
  const JsonValue value = Parsed(compact);
  const std::string readable = WriteJson(value);
  ASSERT_GT(readable.size(), compact.size());
  JsonLimits limits;
  limits.max_bytes = readable.size();
  EXPECT_EQ(WriteDocument(value, 2, limits), readable);
  for (const std::size_t most : {readable.size() - 1, compact.size(), std::size_t{1}}) {
    limits.max_bytes = most;
    EXPECT_EQ(WriteDocument(value, 2, limits), compact);
  }
}

TEST(Json, EqualityIgnoresTheOrderOfMembersOnly) {
  EXPECT_TRUE(Parsed(R"({"a":1,"b":[1,2]})") == Parsed(R"({"b":[1,2],"a":1})"));
  EXPECT_FALSE(Parsed(R"({"a":1,"b":[1,2]})") == Parsed(R"({"b":[2,1],"a":1})"));
  EXPECT_FALSE(Parsed(R"({"a":1})") == Parsed(R"({"a":1,"b":1})"));
  EXPECT_FALSE(Parsed("1") == Parsed("1.0"));
  EXPECT_FALSE(Parsed("1") == Parsed("\"1\""));
  EXPECT_FALSE(Parsed("true") == Parsed("false"));
  EXPECT_FALSE(Parsed("[]") == Parsed("{}"));
}

// An object with `count` members, from the first to the last or the other way round.
std::string WideObject(int count, bool backwards) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) {
    const std::string key = std::to_string(backwards ? count - 1 - i : i);
    text += "\"" + key + "\":[" + key + "],";
  }
  text.back() = '}';
  return text;
}

// By one look at all others for each of the members this would take minutes.
TEST(Json, WideObjectsAreComparedAndChangedWithoutALookAtAllPairs) {
  constexpr int kCount = 50'000;
  const std::clock_t begun = std::clock();
  const JsonValue before = Parsed(WideObject(kCount, false));
  JsonValue after = Parsed(WideObject(kCount, true));
  EXPECT_TRUE(before == after);
  EXPECT_TRUE(SameMeaning(before, after));
  std::erase_if(after.mutable_members(),
                [](const auto& member) { return member.second.items()[0].text().ends_with('7'); });
  after.Set("new", Parsed("1.0"));
  EXPECT_FALSE(SameMeaning(before, after));
  JsonValue target = before;
  ApplyChange(target, before, after);
  EXPECT_TRUE(target == after);
  EXPECT_EQ(target.members().front().first, "0") << "what stays keeps its place";
  EXPECT_EQ(target.members().back().first, "new");
  EXPECT_LT((std::clock() - begun) / CLOCKS_PER_SEC, 30);
}

TEST(Json, AMemberIndexFindsWhatFindFinds) {
  const JsonValue object = Parsed(R"({"b":1,"a":2,"":3})");
  const JsonMemberIndex index(object);
  for (const char* key : {"a", "b", "", "c"}) EXPECT_EQ(index.Find(key), object.Find(key)) << key;
  EXPECT_EQ(index.Position("a"), 1u);
  EXPECT_EQ(index.Duplicate(), nullptr);
  const JsonValue twice =
      JsonValue::Object({{"x", JsonValue()}, {"y", JsonValue()}, {"x", JsonValue()}});
  const JsonMemberIndex index_of_twice(twice);
  ASSERT_NE(index_of_twice.Duplicate(), nullptr);
  EXPECT_EQ(*index_of_twice.Duplicate(), "x");
  const JsonValue number = Parsed("1");
  EXPECT_EQ(JsonMemberIndex(number).Find("x"), nullptr);
}

TEST(Json, ValuesOfOtherTypesAreEmpty) {
  const JsonValue number = Parsed("1");
  EXPECT_TRUE(number.items().empty());
  EXPECT_TRUE(number.members().empty());
  EXPECT_FALSE(number.boolean());
  EXPECT_EQ(Parsed("[1]").text(), "");
}

TEST(Json, MembersAreFoundSetAndErased) {
  JsonValue value = Parsed(R"({"a":1,"b":2})");
  value.Set("a", JsonValue::String("x"));
  value.Set("c", JsonValue::Number(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_TRUE(value.Erase("b"));
  EXPECT_FALSE(value.Erase("b"));
  EXPECT_EQ(value.Find("b"), nullptr);
  ASSERT_NE(value.Find("c"), nullptr);
  EXPECT_EQ(WriteJson(value, 0), R"({"a": "x", "c": 18446744073709551615})");
  EXPECT_EQ(Parsed("[1]").Find("a"), nullptr);
}

}  // namespace
}  // namespace unshard
