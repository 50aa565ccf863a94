// Metadata documents with one member that is wrong, and how reading them fails.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "codec/core/error.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"

namespace unshard {

// A JSON object with one member replaced. Both texts are JSON.
inline std::string WithMember(const char* document, const char* key, const char* json) {
  JsonValue object = ParseJson(document).value();
  object.Set(key, ParseJson(json).value());
  return WriteJson(object);
}

struct BrokenMember {
  const char* key;
  const char* json;
  ErrorCode code;
  const char* message;  // begins with this
};

// `parse` fails for each of these members of `document`.
template <class Parse>
void ExpectFailures(const char* document, std::span<const BrokenMember> members,
                    const Parse& parse) {
  for (const BrokenMember& each : members) {
    const auto parsed = parse(WithMember(document, each.key, each.json));
    ASSERT_FALSE(parsed) << each.key << ' ' << each.json;
    EXPECT_EQ(parsed.error().code, each.code) << parsed.error().message;
    EXPECT_TRUE(parsed.error().message.starts_with(each.message)) << parsed.error().message;
  }
}

}  // namespace unshard
