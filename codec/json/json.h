// A JSON tree that keeps the order of members and the spelling of numbers.
//
// Metadata documents are rewritten by editing this tree, so that what an edit does not name stays
// as it was. parser.h reads it, writer.h writes it, cursor.h checks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "codec/core/error.h"

namespace unshard {

// One JSON value. A number is its token, as the text has it.
class JsonValue {
 public:
  enum class Type { kNull, kBoolean, kNumber, kString, kArray, kObject };
  using Member = std::pair<std::string, JsonValue>;

  JsonValue() = default;  // null
  static JsonValue Boolean(bool value);
  static JsonValue Number(std::string token);
  static JsonValue Number(std::uint64_t value);
  static JsonValue String(std::string value);
  static JsonValue Array(std::vector<JsonValue> items = {});
  static JsonValue Object(std::vector<Member> members = {});

  [[nodiscard]] Type type() const { return static_cast<Type>(value_.index()); }
  [[nodiscard]] bool is_null() const { return type() == Type::kNull; }
  [[nodiscard]] bool is_object() const { return type() == Type::kObject; }
  [[nodiscard]] bool is_array() const { return type() == Type::kArray; }
  [[nodiscard]] bool is_string() const { return type() == Type::kString; }
  [[nodiscard]] bool is_number() const { return type() == Type::kNumber; }
  [[nodiscard]] bool is_boolean() const { return type() == Type::kBoolean; }

  // Of a value of another type: false, an empty text, no items, no members.
  [[nodiscard]] bool boolean() const;
  // The number token, or the string's value.
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] const std::vector<JsonValue>& items() const;
  [[nodiscard]] const std::vector<Member>& members() const;

  // Requires: an array, an object.
  [[nodiscard]] std::vector<JsonValue>& mutable_items();
  [[nodiscard]] std::vector<Member>& mutable_members();

  // The member `key` of an object; a null pointer where there is none or this is no object. Linear
  // in the number of members: for many keys of a large object, see JsonMemberIndex.
  [[nodiscard]] const JsonValue* Find(std::string_view key) const;
  [[nodiscard]] JsonValue* Find(std::string_view key);
  // Replaces the member in its place, or appends it. Requires: an object.
  void Set(std::string_view key, JsonValue value);
  // True where a member was removed.
  bool Erase(std::string_view key);

  // Objects are equal in any order of members, numbers only by token ("1" is not "1.0").
  friend bool operator==(const JsonValue& a, const JsonValue& b);

 private:
  struct NumberToken {
    std::string text;
    friend bool operator==(const NumberToken&, const NumberToken&) = default;
  };
  // In the order of Type. Documents of some MiB have millions of values: no more than 40 bytes.
  std::variant<std::monostate, bool, NumberToken, std::string, std::vector<JsonValue>,
               std::vector<Member>>
      value_;
};

// The string member `key` of an object; "" where it is absent or something else.
std::string TextOf(const JsonValue& object, std::string_view key);
// The items, in the object, of the array member `key`; none where it is absent or something else.
const std::vector<JsonValue>& ItemsOf(const JsonValue& object, std::string_view key);

// Finds the members of one object by their keys, each in logarithmic time. Refers to the object,
// whose keys must neither move nor change meanwhile.
class JsonMemberIndex {
 public:
  // Empty where `object` is no object.
  explicit JsonMemberIndex(const JsonValue& object);

  // The position of `key` among the members; nothing where there is none.
  [[nodiscard]] std::optional<std::size_t> Position(std::string_view key) const;
  // The member's value; a null pointer where there is none.
  [[nodiscard]] const JsonValue* Find(std::string_view key) const;
  // A key that the object has more than once.
  [[nodiscard]] const std::string* Duplicate() const;

 private:
  const JsonValue& object_;
  std::vector<std::uint32_t> sorted_;  // positions, in the order of their keys
};

}  // namespace unshard
