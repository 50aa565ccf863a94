#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/json/parser.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxUnsigned = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kMinInteger = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMaxInteger = std::numeric_limits<std::int64_t>::max();

// The message of a result that must be a failure.
template <class T>
std::string Message(const Result<T>& result) {
  EXPECT_FALSE(result);
  if (result) return "";
  EXPECT_EQ(result.error().code, ErrorCode::kDataLoss);
  return result.error().message;
}

Result<std::uint64_t> Unsigned(const std::string& token, std::uint64_t min = 0,
                               std::uint64_t max = kMaxUnsigned) {
  const JsonValue value = JsonValue::Number(token);
  return JsonCursor(value, "n").Unsigned(min, max);
}

Result<std::int64_t> Integer(const std::string& token) {
  const JsonValue value = JsonValue::Number(token);
  return JsonCursor(value, "n").Integer(kMinInteger, kMaxInteger);
}

TEST(JsonCursor, FailuresNameThePathAndWhatWasExpected) {
  const auto value = ParseJson(R"({"scales": [{}, {"sharding": {"hash": 3, "a.b": []}}]})");
  ASSERT_TRUE(value);
  const JsonCursor root(*value, "");
  const auto scales = root.Member("scales")->Items();
  ASSERT_TRUE(scales);
  const auto sharding = (*scales)[1].Member("sharding");
  ASSERT_TRUE(sharding);
  EXPECT_EQ(Message(sharding->Member("hash")->String()),
            "scales[1].sharding.hash: expected a string, found the number 3");
  EXPECT_EQ(Message((*scales)[0].Member("sharding")),
            "scales[0].sharding: expected a value, found nothing");
  EXPECT_EQ(Message(sharding->Member("a.b")->Boolean()),
            "scales[1].sharding[\"a.b\"]: expected true or false, found an array of 0");
  EXPECT_EQ(Message(root.String()), "document: expected a string, found an object");
  EXPECT_EQ(Message(root.Items()), "document: expected an array, found an object");
  EXPECT_EQ(Message(root.Member("scales")->Items(1)),
            "scales: expected an array of at most 1, found an array of 2");
  EXPECT_EQ(Message(root.Member("scales")->Member("x")),
            "scales: expected an object, found an array of 2");
}

TEST(JsonCursor, LongStringsAreShortenedInMessagesAtWholeCharacters) {
  const JsonValue value = JsonValue::String(std::string(39, 'a') + "€€€");
  EXPECT_EQ(Message(JsonCursor(value, "s").Boolean()),
            "s: expected true or false, found the string \"" + std::string(39, 'a') + "…\"");
}

TEST(JsonCursor, OptionalMemberIsAbsentWhenMissingOrNull) {
  const auto value = ParseJson(R"({"a": null, "b": 1})");
  ASSERT_TRUE(value);
  const JsonCursor root(*value, "info");
  EXPECT_FALSE(root.OptionalMember("a")->has_value());
  EXPECT_FALSE(root.OptionalMember("c")->has_value());
  ASSERT_TRUE(root.OptionalMember("b")->has_value());
  EXPECT_EQ(root.OptionalMember("b")->value().path(), "info.b");
  EXPECT_NE(root.value().Find("a"), nullptr);
  EXPECT_EQ(root.value().Find("c"), nullptr);
  EXPECT_FALSE(root.Member("b")->OptionalMember("x"));
  EXPECT_FALSE(root.Member("b")->ExpectObject());
  EXPECT_TRUE(root.ExpectObject());
}

TEST(JsonCursor, WholeNumbersAreReadInAnySpelling) {
  for (const std::string token : {"3", "3.0", "3e0", "0.3e1", "300e-2", "3.000E+0", "0.03e2"}) {
    EXPECT_EQ(Unsigned(token), 3U) << token;
    EXPECT_EQ(Integer("-" + token), -3) << token;
  }
  for (const std::string token : {"0", "-0", "0.0", "-0e5", "0e99999999999999999999"}) {
    EXPECT_EQ(Unsigned(token), 0U) << token;
    EXPECT_EQ(Integer(token), 0) << token;
  }
  EXPECT_EQ(Unsigned("1e19"), 10'000'000'000'000'000'000U);
  EXPECT_EQ(Unsigned("9007199254740993.0"), 9007199254740993U);
}

TEST(JsonCursor, NumbersThatAreNotWholeAreRefused) {
  for (const std::string token :
       {"3.5", "1e-1", "NaN", "Infinity", "-Infinity", "0.1e-999999999999999999999", "1e20",
        "1e999", "1e99999999999999999999999", "18446744073709551616", "184467440737095516150"}) {
    EXPECT_FALSE(Unsigned(token)) << token;
    EXPECT_FALSE(Integer(token)) << token;
  }
}

TEST(JsonCursor, BoundsAreInclusive) {
  EXPECT_EQ(Unsigned("18446744073709551615"), kMaxUnsigned);
  EXPECT_EQ(Unsigned("64", 0, 64), 64U);
  EXPECT_EQ(Message(Unsigned("65", 0, 64)),
            "n: expected a whole number from 0 to 64, found the number 65");
  EXPECT_FALSE(Unsigned("0", 1, 64));
  EXPECT_FALSE(Unsigned("-1"));
  EXPECT_EQ(Integer("9223372036854775807"), kMaxInteger);
  EXPECT_EQ(Integer("-9223372036854775808"), kMinInteger);
  EXPECT_FALSE(Integer("9223372036854775808"));
  EXPECT_FALSE(Integer("-9223372036854775809"));
}

TEST(JsonCursor, OtherTypesAreNoNumbers) {
  const JsonValue text = JsonValue::String("3");
  EXPECT_EQ(Message(JsonCursor(text, "n").Unsigned(0, 9)),
            "n: expected a whole number from 0 to 9, found the string \"3\"");
  EXPECT_EQ(Message(JsonCursor(text, "n").Integer(-9, 9)),
            "n: expected a whole number from -9 to 9, found the string \"3\"");
  const JsonValue yes = JsonValue::Boolean(true);
  EXPECT_EQ(JsonCursor(yes, "b").Boolean(), true);
  EXPECT_EQ(JsonCursor(text, "s").String(), "3");
}

TEST(JsonCursor, MembersAreReadInTheOrderOfTheirReaders) {
  const auto document = ParseJson(R"({"b": null, "a": 1})");
  const JsonCursor cursor(*document, "x");
  std::string order;
  std::uint64_t number = 0;
  const MemberReader a = {"a", [&](const JsonCursor& member) {
                            order += member.path() + " ";
                            return Assign(number, member.Unsigned(0, 9));
                          }};
  const MemberReader b = {"b", [&](const JsonCursor& member) {
                            order += member.path() + " ";
                            return Status();
                          }};
  const MemberReader absent = {
      "absent", [](const JsonCursor& member) -> Status { return member.Expected("nothing"); }};
  EXPECT_TRUE(cursor.ReadMembers({a, absent, b}));
  EXPECT_EQ(order, "x.a x.b ");
  EXPECT_EQ(number, 1U);
  EXPECT_EQ(Message(cursor.ReadMembers({a})), "x.b: unknown member; known members: a");
  const JsonValue text = JsonValue::String("3");
  EXPECT_EQ(Message(JsonCursor(text, "x").ReadMembers({a})),
            "x: expected an object, found the string \"3\"");
}

}  // namespace
}  // namespace unshard
