#include "codec/chain/codec_options.h"

#include <algorithm>

namespace unshard {

Result<std::optional<JsonCursor>> CodecOptions::Find(std::string_view key) const {
  if (members_ == nullptr) return std::nullopt;
  return JsonCursor(*members_, path_).OptionalMember(key);
}

Result<JsonCursor> CodecOptions::Member(std::string_view key) const {
  UNSHARD_ASSIGN_OR_RETURN(auto member, Find(key));
  if (member) return *std::move(member);
  return Fail(ErrorCode::kDataLoss, path_, ": expected the member \"", key, "\"");
}

Result<const CodecOption*> CodecOptions::Listed(std::string_view key) const {
  if (const CodecOption* const option = definition_->FindOption(key)) return option;
  return Fail(ErrorCode::kInternal, path_, ": no option \"", key, "\" is listed");
}

Result<int> CodecOptions::Integer(std::string_view key, int absent, int min, int max) const {
  UNSHARD_ASSIGN_OR_RETURN(const auto member, Find(key));
  if (!member) return absent;
  UNSHARD_ASSIGN_OR_RETURN(const std::int64_t value, member->Integer(min, max));
  return static_cast<int>(value);
}

Result<int> CodecOptions::Integer(std::string_view key) const {
  UNSHARD_ASSIGN_OR_RETURN(const CodecOption* const option, Listed(key));
  const CodecOption::Spelling spelling = option->In(dialect_);
  UNSHARD_ASSIGN_OR_RETURN(const int value,
                           Integer(spelling.name, static_cast<int>(spelling.absent),
                                   static_cast<int>(*spelling.min), static_cast<int>(option->max)));
  return value < option->min ? static_cast<int>(option->absent) : value;
}

Result<std::size_t> CodecOptions::Word(std::string_view key) const {
  UNSHARD_ASSIGN_OR_RETURN(const CodecOption* const option, Listed(key));
  UNSHARD_ASSIGN_OR_RETURN(const auto member, Find(key));
  if (!member) return static_cast<std::size_t>(option->absent);
  UNSHARD_ASSIGN_OR_RETURN(const std::string word, member->String());
  const auto found = std::find(option->words.begin(), option->words.end(), word);
  if (found != option->words.end()) return static_cast<std::size_t>(found - option->words.begin());
  std::string expected;
  for (const std::string_view each : option->words) {
    if (!expected.empty()) expected += " or ";
    expected += "\"" + std::string(each) + "\"";
  }
  return member->Expected(expected);
}

Result<bool> CodecOptions::Boolean(std::string_view key) const {
  UNSHARD_ASSIGN_OR_RETURN(const auto member, Find(key));
  return !member ? Result<bool>(false) : member->Boolean();
}

}  // namespace unshard
