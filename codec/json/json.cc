#include "codec/json/json.h"

#include <algorithm>
#include <numeric>

namespace unshard {
namespace {

// The alternative T of a variant; an empty T for values of other types.
template <class T, class Variant>
const T& GetOrEmpty(const Variant& value) {
  static const T kEmpty{};
  const T* const held = std::get_if<T>(&value);
  return held != nullptr ? *held : kEmpty;
}

bool SameKeys(const std::vector<JsonValue::Member>& a, const std::vector<JsonValue::Member>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

}  // namespace

JsonValue JsonValue::Boolean(bool value) {
  JsonValue result;
  result.value_ = value;
  return result;
}

JsonValue JsonValue::Number(std::string token) {
  JsonValue result;
  result.value_ = NumberToken{std::move(token)};
  return result;
}

JsonValue JsonValue::Number(std::uint64_t value) { return Number(std::to_string(value)); }

JsonValue JsonValue::String(std::string value) {
  JsonValue result;
  result.value_ = std::move(value);
  return result;
}

JsonValue JsonValue::Array(std::vector<JsonValue> items) {
  JsonValue result;
  result.value_ = std::move(items);
  return result;
}

JsonValue JsonValue::Object(std::vector<Member> members) {
  JsonValue result;
  result.value_ = std::move(members);
  return result;
}

bool JsonValue::boolean() const { return GetOrEmpty<bool>(value_); }

const std::string& JsonValue::text() const {
  const auto* const number = std::get_if<NumberToken>(&value_);
  return number != nullptr ? number->text : GetOrEmpty<std::string>(value_);
}

const std::vector<JsonValue>& JsonValue::items() const {
  return GetOrEmpty<std::vector<JsonValue>>(value_);
}

const std::vector<JsonValue::Member>& JsonValue::members() const {
  return GetOrEmpty<std::vector<Member>>(value_);
}

std::vector<JsonValue>& JsonValue::mutable_items() {
  return std::get<std::vector<JsonValue>>(value_);
}

std::vector<JsonValue::Member>& JsonValue::mutable_members() {
  return std::get<std::vector<Member>>(value_);
}

const JsonValue* JsonValue::Find(std::string_view key) const {
  const auto found = std::find_if(members().begin(), members().end(),
                                  [&](const Member& member) { return member.first == key; });
  return found == members().end() ? nullptr : &found->second;
}

JsonValue* JsonValue::Find(std::string_view key) {
  return const_cast<JsonValue*>(std::as_const(*this).Find(key));
}

void JsonValue::Set(std::string_view key, JsonValue value) {
  if (JsonValue* const present = Find(key)) {
    *present = std::move(value);
  } else {
    mutable_members().emplace_back(std::string(key), std::move(value));
  }
}

bool JsonValue::Erase(std::string_view key) {
  if (!is_object()) return false;
  return std::erase_if(mutable_members(),
                       [&](const Member& member) { return member.first == key; }) > 0;
}

bool operator==(const JsonValue& a, const JsonValue& b) {
  if (!a.is_object() || !b.is_object()) return a.value_ == b.value_;
  if (SameKeys(a.members(), b.members())) return a.members() == b.members();
  if (a.members().size() != b.members().size()) return false;
  const JsonMemberIndex others(b);
  return std::all_of(a.members().begin(), a.members().end(), [&](const auto& member) {
    const JsonValue* const other = others.Find(member.first);
    return other != nullptr && member.second == *other;
  });
}

std::string TextOf(const JsonValue& object, std::string_view key) {
  const JsonValue* member = object.Find(key);
  return member != nullptr && member->is_string() ? member->text() : "";
}

const std::vector<JsonValue>& ItemsOf(const JsonValue& object, std::string_view key) {
  static const std::vector<JsonValue> kNone;
  const JsonValue* member = object.Find(key);
  return member != nullptr && member->is_array() ? member->items() : kNone;
}

JsonMemberIndex::JsonMemberIndex(const JsonValue& object)
    : object_(object), sorted_(object.members().size()) {
  std::iota(sorted_.begin(), sorted_.end(), 0);
  const auto& members = object.members();
  std::sort(sorted_.begin(), sorted_.end(),
            [&](auto a, auto b) { return members[a].first < members[b].first; });
}

std::optional<std::size_t> JsonMemberIndex::Position(std::string_view key) const {
  const auto& members = object_.members();
  const auto found = std::lower_bound(
      sorted_.begin(), sorted_.end(), key,
      [&](auto position, auto wanted) { return members[position].first < wanted; });
  if (found == sorted_.end() || members[*found].first != key) return std::nullopt;
  return *found;
}

const JsonValue* JsonMemberIndex::Find(std::string_view key) const {
  const auto position = Position(key);
  return position ? &object_.members()[*position].second : nullptr;
}

const std::string* JsonMemberIndex::Duplicate() const {
  const auto& members = object_.members();
  const auto twice = std::adjacent_find(sorted_.begin(), sorted_.end(), [&](auto a, auto b) {
    return members[a].first == members[b].first;
  });
  return twice == sorted_.end() ? nullptr : &members[*twice].first;
}

}  // namespace unshard
