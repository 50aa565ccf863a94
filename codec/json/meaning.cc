#include "codec/json/meaning.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/text.h"

namespace unshard {
namespace {

// A decimal number as digits × 10^exponent, without zeros at either end of the digits.
struct Decimal {
  bool negative = false;
  std::string digits;  // empty for zero
  std::int64_t exponent = 0;
  friend bool operator==(const Decimal&, const Decimal&) = default;
};

// Nothing for NaN, infinities and exponents beyond 10^9.
std::optional<Decimal> DecimalOf(std::string_view token) {
  Decimal decimal;
  decimal.negative = token.starts_with('-');
  if (decimal.negative) token.remove_prefix(1);
  const std::size_t mark = std::min(token.find_first_of("eE"), token.size());
  if (mark < token.size()) {
    std::string_view exponent = token.substr(mark + 1);
    if (exponent.starts_with('+')) exponent.remove_prefix(1);
    constexpr std::int64_t kMaxExponent = 1'000'000'000;
    const auto number = ParseNumber<std::int64_t>(exponent);
    if (!number || *number > kMaxExponent || *number < -kMaxExponent) return std::nullopt;
    decimal.exponent = *number;
  }
  bool fraction = false;
  for (const char c : token.substr(0, mark)) {
    if (c == '.') {
      fraction = true;
    } else if (IsDigit(c)) {
      decimal.digits += c;
      if (fraction) --decimal.exponent;
    } else {
      return std::nullopt;
    }
  }
  decimal.digits.erase(0, std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size()));
  while (decimal.digits.ends_with('0')) {
    decimal.digits.pop_back();
    ++decimal.exponent;
  }
  if (decimal.digits.empty()) decimal.exponent = 0;
  return decimal;
}

bool IsFraction(std::string_view token) { return token.find_first_of(".eE") != token.npos; }

// As SameMeaning compares numbers.
bool SameNumber(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto x = DecimalOf(a);
  const auto y = DecimalOf(b);
  if (!x || !y) return false;
  if (*x == *y) return true;
  // Programs parse fractions as doubles and write these with the fewest digits that suffice.
  if (!IsFraction(a) || !IsFraction(b)) return false;
  const auto c = ParseNumber<double>(a);
  return c && c == ParseNumber<double>(b) && x->negative == y->negative;
}

bool SameItems(const std::vector<JsonValue>& a, const std::vector<JsonValue>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), SameMeaning);
}

bool SameMembers(const JsonValue& a, const JsonValue& b) {
  if (a.members().size() != b.members().size()) return false;
  const JsonMemberIndex others(b);
  return std::all_of(a.members().begin(), a.members().end(), [&](const auto& member) {
    const JsonValue* other = others.Find(member.first);
    return other != nullptr && SameMeaning(member.second, *other);
  });
}

void ApplyMembers(JsonValue& target, const JsonValue& before, const JsonValue& after) {
  const JsonMemberIndex was(before);
  const JsonMemberIndex is(after);
  std::erase_if(target.mutable_members(), [&](const auto& member) {
    return was.Position(member.first) && !is.Position(member.first);
  });
  // Appended members have keys that the target lacks, so that the index stays valid.
  const JsonMemberIndex places(target);
  std::vector<JsonValue::Member> appended;
  for (const auto& [key, value] : after.members()) {
    const JsonValue* const old = was.Find(key);
    if (old != nullptr && SameMeaning(*old, value)) continue;
    const auto place = places.Position(key);
    if (!place) {
      appended.emplace_back(key, value);
    } else if (JsonValue& member = target.mutable_members()[*place].second; old != nullptr) {
      ApplyChange(member, *old, value);
    } else {
      member = value;
    }
  }
  auto& members = target.mutable_members();
  members.insert(members.end(), std::make_move_iterator(appended.begin()),
                 std::make_move_iterator(appended.end()));
}

}  // namespace

std::string CanonicalNumber(std::string_view token) {
  const auto decimal = DecimalOf(token);
  if (!decimal) return std::string(token);
  return (decimal->negative ? "-" : "") + (decimal->digits.empty() ? "0" : decimal->digits) + 'e' +
         std::to_string(decimal->exponent);
}

bool SameMeaning(const JsonValue& a, const JsonValue& b) {
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case JsonValue::Type::kNull:
      return true;
    case JsonValue::Type::kBoolean:
      return a.boolean() == b.boolean();
    case JsonValue::Type::kNumber:
      return SameNumber(a.text(), b.text());
    case JsonValue::Type::kString:
      return a.text() == b.text();
    case JsonValue::Type::kArray:
      return SameItems(a.items(), b.items());
    case JsonValue::Type::kObject:
      return SameMembers(a, b);
  }
  return false;
}

bool QuoteBareNumbers(JsonValue& value) {
  const auto is_bare = [](const std::string& text) {
    return text == "NaN" || text == "Infinity" || text == "-Infinity";
  };
  if (value.is_number() && is_bare(value.text())) {
    value = JsonValue::String(value.text());
    return true;
  }
  bool any = false;
  if (value.is_array()) {
    for (JsonValue& item : value.mutable_items()) any |= QuoteBareNumbers(item);
  } else if (value.is_object()) {
    for (auto& [name, member] : value.mutable_members()) any |= QuoteBareNumbers(member);
  }
  return any;
}

void ApplyChange(JsonValue& target, const JsonValue& before, const JsonValue& after) {
  if (SameMeaning(before, after)) return;
  if (target.is_object() && before.is_object() && after.is_object()) {
    ApplyMembers(target, before, after);
    return;
  }
  const std::size_t count = after.items().size();
  const bool item_by_item = target.is_array() && before.is_array() && after.is_array() &&
                            before.items().size() == count && target.items().size() == count;
  if (!item_by_item) {
    target = after;
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    ApplyChange(target.mutable_items()[i], before.items()[i], after.items()[i]);
  }
}

void ApplyMemberChange(JsonValue& target, std::string_view key, const JsonValue* before,
                       const JsonValue* after) {
  if (after == nullptr) {
    if (before != nullptr) target.Erase(key);
    return;
  }
  JsonValue* member = target.Find(key);
  if (before != nullptr && SameMeaning(*before, *after)) return;
  if (before == nullptr || member == nullptr) {
    target.Set(key, *after);
  } else {
    ApplyChange(*member, *before, *after);
  }
}

int IndentOf(std::string_view text) {
  const std::size_t line = text.find('\n');
  if (line == text.npos) return 0;
  const std::size_t first = text.find_first_not_of(' ', line + 1);
  constexpr std::size_t kMaxIndent = 8;
  if (first == text.npos || first == line + 1) return 2;
  return static_cast<int>(std::min(first - line - 1, kMaxIndent));
}

}  // namespace unshard
