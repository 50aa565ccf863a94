#include "codec/json/cursor.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "codec/core/byte_range.h"
#include "codec/core/escaped_text.h"
#include "codec/core/text.h"
#include "codec/json/writer.h"

namespace unshard {
namespace {

// A whole number as sign and magnitude.
struct WholeNumber {
  bool negative = false;
  std::uint64_t magnitude = 0;
};

// The exponent of a number token, from the text after its e. It is clamped at 2^40: no document has
// enough digits to make up for a larger one.
std::int64_t ParseExponent(std::string_view text) {
  constexpr std::int64_t kClamp = std::int64_t{1} << 40;
  const bool negative = !text.empty() && text.front() == '-';
  std::int64_t exponent = 0;
  for (const char c : text) {
    if (IsDigit(c)) exponent = std::min(exponent * 10 + (c - '0'), kClamp);
  }
  return negative ? -exponent : exponent;
}

// digits * 10^exponent, or nothing where it takes more than 64 bits.
std::optional<std::uint64_t> Scale(std::string_view digits, std::int64_t exponent) {
  constexpr std::int64_t kMaxDigits = 20;  // of 2^64 - 1
  if (static_cast<std::int64_t>(digits.size()) + exponent > kMaxDigits) return std::nullopt;
  std::optional<std::uint64_t> value = 0;
  const auto append = [&](std::uint64_t digit) {
    value = CheckedMultiply(*value, 10);
    if (value) value = CheckedAdd(*value, digit);
    return value.has_value();
  };
  for (const char c : digits) {
    if (!append(static_cast<std::uint64_t>(c - '0'))) return std::nullopt;
  }
  for (; exponent > 0; --exponent) {
    if (!append(0)) return std::nullopt;
  }
  return value;
}

// The value of a number token where it is whole and below 2^64 in magnitude. Computed in decimal,
// because a double would lose the last digit of 9007199254740993.0.
std::optional<WholeNumber> ParseWhole(std::string_view token) {
  WholeNumber whole;
  if (!token.empty() && token.front() == '-') {
    whole.negative = true;
    token.remove_prefix(1);
  }
  if (token.empty() || !IsDigit(token.front())) return std::nullopt;  // NaN, Infinity
  std::int64_t exponent = 0;
  if (const auto e = token.find_first_of("eE"); e != token.npos) {
    exponent = ParseExponent(token.substr(e + 1));
    token = token.substr(0, e);
  }
  std::string digits(token);
  if (const auto point = digits.find('.'); point != digits.npos) {
    exponent -= static_cast<std::int64_t>(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  const auto first = digits.find_first_not_of('0');
  if (first == digits.npos) return WholeNumber{};
  const auto last = digits.find_last_not_of('0');
  exponent += static_cast<std::int64_t>(digits.size() - last - 1);
  if (exponent < 0) return std::nullopt;
  const auto magnitude = Scale(std::string_view(digits).substr(first, last - first + 1), exponent);
  if (!magnitude) return std::nullopt;
  whole.magnitude = *magnitude;
  return whole;
}

// The value in two's complement where it fits; nothing otherwise.
std::optional<std::int64_t> AsSigned(const WholeNumber& whole) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (whole.magnitude > kMax + (whole.negative ? 1 : 0)) return std::nullopt;
  return static_cast<std::int64_t>(whole.negative ? 0 - whole.magnitude : whole.magnitude);
}

std::string WholeNumberFrom(const std::string& min, const std::string& max) {
  return "a whole number from " + min + " to " + max;
}

// Untrusted text for a message: truncated and escaped.
std::string Quoted(std::string_view text) {
  constexpr std::size_t kMaxShown = 40;
  if (text.size() <= kMaxShown) return WriteJson(JsonValue::String(std::string(text)), 0);
  std::size_t shown = kMaxShown;
  while (shown > 0 && (static_cast<unsigned char>(text[shown]) & 0xC0) == 0x80) --shown;
  return WriteJson(JsonValue::String(std::string(text.substr(0, shown)) + "…"), 0);
}

std::string Describe(const JsonValue& value) {
  switch (value.type()) {
    case JsonValue::Type::kNull:
      return "null";
    case JsonValue::Type::kBoolean:
      return value.boolean() ? "true" : "false";
    case JsonValue::Type::kNumber:
      return "the number " + value.text().substr(0, 40);
    case JsonValue::Type::kString:
      return "the string " + Quoted(value.text());
    case JsonValue::Type::kArray:
      return "an array of " + std::to_string(value.items().size());
    case JsonValue::Type::kObject:
      return "an object";
  }
  return "something else";
}

}  // namespace

std::string MemberPath(const std::string& path, std::string_view key) {
  const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '@' ||
           c == '-';
  });
  if (!plain) return path + "[" + Quoted(key) + "]";
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

std::string ItemPath(const std::string& path, std::size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

tl::unexpected<Error> JsonCursor::Expected(std::string_view expected) const {
  return Fail(ErrorCode::kDataLoss, path_.empty() ? "document" : path_, ": expected ", expected,
              ", found ", Describe(*value_));
}

Status JsonCursor::ExpectObject() const {
  if (!value_->is_object()) return Expected("an object");
  return {};
}

Result<JsonCursor> JsonCursor::Member(std::string_view key) const {
  UNSHARD_RETURN_IF_ERROR(ExpectObject());
  const JsonValue* const member = value_->Find(key);
  if (member == nullptr) {
    return Fail(ErrorCode::kDataLoss, MemberPath(path_, key), ": expected a value, found nothing");
  }
  return JsonCursor(*member, MemberPath(path_, key));
}

Result<std::optional<JsonCursor>> JsonCursor::OptionalMember(std::string_view key) const {
  UNSHARD_RETURN_IF_ERROR(ExpectObject());
  const JsonValue* const member = value_->Find(key);
  if (member == nullptr || member->is_null()) return std::nullopt;
  return JsonCursor(*member, MemberPath(path_, key));
}

Status JsonCursor::ReadMembers(const std::vector<MemberReader>& readers) const {
  UNSHARD_RETURN_IF_ERROR(ExpectObject());
  for (const auto& [key, value] : value_->members()) {
    const bool is_known = std::any_of(readers.begin(), readers.end(),
                                      [&key = key](const auto& one) { return one.key == key; });
    if (is_known) continue;
    std::string known;
    for (const MemberReader& one : readers) known += (known.empty() ? "" : ", ") + one.key;
    return Fail(ErrorCode::kDataLoss, MemberPath(path_, key),
                ": unknown member; known members: ", known);
  }
  for (const MemberReader& one : readers) {
    const JsonValue* const member = value_->Find(one.key);
    if (member == nullptr) continue;
    UNSHARD_RETURN_IF_ERROR(one.read({*member, MemberPath(path_, one.key)}));
  }
  return {};
}

Result<std::vector<JsonCursor>> JsonCursor::Items(std::size_t max_items) const {
  if (!value_->is_array()) return Expected("an array");
  const auto& items = value_->items();
  if (items.size() > max_items) {
    return Expected("an array of at most " + std::to_string(max_items));
  }
  std::vector<JsonCursor> cursors;
  cursors.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    cursors.emplace_back(items[i], ItemPath(path_, i));
  }
  return cursors;
}

Result<std::string> JsonCursor::String() const {
  if (!value_->is_string()) return Expected("a string");
  return value_->text();
}

Result<std::string> JsonCursor::StringMember(std::string_view key) const {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, Member(key));
  return member.String();
}

Result<std::uint64_t> JsonCursor::UnsignedMember(std::string_view key, std::uint64_t min,
                                                 std::uint64_t max) const {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor member, Member(key));
  return member.Unsigned(min, max);
}

Result<std::string> JsonCursor::EscapedMember(std::string_view key) const {
  UNSHARD_ASSIGN_OR_RETURN(const std::string text, StringMember(key));
  return UnescapeBytes(text);
}

Result<bool> JsonCursor::Boolean() const {
  if (!value_->is_boolean()) return Expected("true or false");
  return value_->boolean();
}

Result<std::uint64_t> JsonCursor::Unsigned(std::uint64_t min, std::uint64_t max) const {
  if (value_->is_number()) {
    const auto whole = ParseWhole(value_->text());
    if (whole && !whole->negative && whole->magnitude >= min && whole->magnitude <= max) {
      return whole->magnitude;
    }
  }
  return Expected(WholeNumberFrom(std::to_string(min), std::to_string(max)));
}

Result<std::vector<std::uint64_t>> JsonCursor::UnsignedItems(std::uint64_t min,
                                                             std::uint64_t max) const {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, Items());
  std::vector<std::uint64_t> numbers;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t number, item.Unsigned(min, max));
    numbers.push_back(number);
  }
  return numbers;
}

Result<std::int64_t> JsonCursor::Integer(std::int64_t min, std::int64_t max) const {
  if (value_->is_number()) {
    const auto whole = ParseWhole(value_->text());
    const auto value = whole ? AsSigned(*whole) : std::nullopt;
    if (value && *value >= min && *value <= max) return *value;
  }
  return Expected(WholeNumberFrom(std::to_string(min), std::to_string(max)));
}

}  // namespace unshard
