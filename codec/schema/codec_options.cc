#include "codec/schema/codec_options.h"

#include <algorithm>
#include <array>
#include <utility>

#include "codec/json/parser.h"
#include "codec/schema/json_reading.h"

namespace unshard {
namespace {

constexpr std::array<std::string_view, 6> kBloscCompressors = {"blosclz", "lz4",  "lz4hc",
                                                               "snappy",  "zlib", "zstd"};

std::string OneOf(std::span<const std::string_view> words) {
  std::string text = "one of";
  for (const std::string_view word : words)
    text += (word == words.front() ? " " : ", ") + std::string(word);
  return text;
}

}  // namespace

std::span<const std::string_view> BloscCompressors() { return kBloscCompressors; }

Result<std::optional<JsonValue>> ParseOption(const JsonCursor& object,
                                             const ConstraintOption& option) {
  if (object.value().Find(option.name) == nullptr) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, object.Member(option.name));
  switch (option.type) {
    case ConstraintOption::Type::kInteger: {
      UNSHARD_ASSIGN_OR_RETURN(const std::int64_t value, member.Integer(option.min, option.max));
      return IntegerNumber(value);
    }
    case ConstraintOption::Type::kBoolean: {
      UNSHARD_ASSIGN_OR_RETURN(const bool value, member.Boolean());
      return JsonValue::Boolean(value);
    }
    case ConstraintOption::Type::kWord: {
      UNSHARD_ASSIGN_OR_RETURN(std::string word, member.String());
      if (std::find(option.words.begin(), option.words.end(), word) == option.words.end()) {
        return member.Expected(OneOf(option.words));
      }
      return JsonValue::String(std::move(word));
    }
  }
  return std::nullopt;
}

Result<JsonValue> ParseCompressor(const JsonCursor& object, std::string_view id_key,
                                  std::span<const KnownCompressor> known) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor id, object.Member(id_key));
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, id.String());
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const KnownCompressor& one) { return one.id == name; });
  if (found == known.end()) {
    std::vector<std::string_view> ids;
    for (const KnownCompressor& one : known) ids.push_back(one.id);
    return id.Expected(OneOf(ids));
  }
  JsonValue compressor = JsonValue::Object();
  compressor.Set(id_key, JsonValue::String(name));
  for (const ConstraintOption& option : found->options) {
    UNSHARD_ASSIGN_OR_RETURN(auto value, ParseOption(object, option));
    if (!value && option.fallback.empty()) {
      return Fail(ErrorCode::kDataLoss, MemberPath(object.path(), option.name), ": missing; ", name,
                  " needs it");
    }
    if (!value) {
      UNSHARD_ASSIGN_OR_RETURN(value, ParseJson(option.fallback));
    }
    compressor.Set(option.name, *std::move(value));
  }
  for (const auto& [key, value] : object.value().members()) {
    if (compressor.Find(key) != nullptr) continue;
    return Fail(ErrorCode::kDataLoss, MemberPath(object.path(), key), ": unknown option of ", name);
  }
  return compressor;
}

}  // namespace unshard
