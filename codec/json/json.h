// A lossless, order-preserving JSON tree: members keep their order, numbers their exact spelling.
//
// Metadata documents are rewritten by editing this tree, so that whatever an edit does not name
// survives. Python's bare NaN, Infinity and -Infinity are accepted as number tokens, because
// zarr-python writes them into attributes.
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

// One JSON value. Numbers hold their token as it stood in the text.
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

  // The member `key` of an object; null pointer where there is none or this is no object. Looks at
  // one member after the other: for many keys of a large object, see JsonMemberIndex.
  [[nodiscard]] const JsonValue* Find(std::string_view key) const;
  [[nodiscard]] JsonValue* Find(std::string_view key);
  // Replaces the member in its place, or appends it. Requires: an object.
  void Set(std::string_view key, JsonValue value);
  // True where a member was removed.
  bool Erase(std::string_view key);

  // Same JSON meaning: objects regardless of member order, numbers by token.
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
// The items of the array member `key`; none where it is absent or something else. Refers to the
// object.
const std::vector<JsonValue>& ItemsOf(const JsonValue& object, std::string_view key);

// The members of one object by their keys, each found in logarithmic time. Refers to the object,
// whose keys must neither move nor change meanwhile.
class JsonMemberIndex {
 public:
  // Empty for what is no object.
  explicit JsonMemberIndex(const JsonValue& object);

  // The position of `key` among the members; nothing where there is none.
  [[nodiscard]] std::optional<std::size_t> Position(std::string_view key) const;
  // The member's value; null pointer where there is none.
  [[nodiscard]] const JsonValue* Find(std::string_view key) const;
  // A key that the object has more than once.
  [[nodiscard]] const std::string* Duplicate() const;

 private:
  const JsonValue& object_;
  std::vector<std::uint32_t> sorted_;  // positions, in the order of their keys
};

struct JsonLimits {
  std::size_t max_bytes = std::size_t{64} << 20;
  std::size_t max_depth = 64;
  // What bounds the memory of the tree: 40 bytes a value, 72 a member, and the texts.
  std::size_t max_values = std::size_t{8} << 20;
};

// Parses one document. Fails with kDataLoss naming line and column for malformed text, bytes that
// are not UTF-8, a member that stands twice, trailing text, or a limit that is exceeded.
Result<JsonValue> ParseJson(std::string_view text, const JsonLimits& limits = {});

// The text of a value, with `indent` spaces a level (0: on one line), ending without a newline.
std::string WriteJson(const JsonValue& value, int indent = 2);
// The same of a document that will be parsed again: without any white space where it would be
// longer than max_bytes with it. Of a tree that was parsed it is then no longer than the text was.
std::string WriteDocument(const JsonValue& document, int indent = 2, const JsonLimits& limits = {});

// Strict reading of a tree. Every failure is kDataLoss and names the JSON path and what was
// expected: "scales[2].sharding.hash: expected a string, found a number". A cursor refers to the
// tree that it was made from, which must outlive it.
class JsonCursor {
 public:
  JsonCursor(const JsonValue& value, std::string path) : value_(&value), path_(std::move(path)) {}

  [[nodiscard]] const JsonValue& value() const { return *value_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  // The member `key`, which must be there. Fails also where this is no object.
  [[nodiscard]] Result<JsonCursor> Member(std::string_view key) const;
  // The member `key`, or nothing where it is absent or null. Fails where this is no object.
  [[nodiscard]] Result<std::vector<JsonCursor>> OptionalMember(std::string_view key) const;
  [[nodiscard]] bool Has(std::string_view key) const { return value_->Find(key) != nullptr; }
  // The items of an array with at most `max_items`.
  [[nodiscard]] Result<std::vector<JsonCursor>> Items(std::size_t max_items = 1u << 20) const;
  [[nodiscard]] Result<std::string> String() const;
  [[nodiscard]] Result<bool> Boolean() const;
  // A whole number between the bounds, both inclusive. 3.0 and 3e0 count as 3.
  [[nodiscard]] Result<std::uint64_t> Unsigned(std::uint64_t min, std::uint64_t max) const;
  [[nodiscard]] Result<std::int64_t> Integer(std::int64_t min, std::int64_t max) const;
  // Fails unless this is an object.
  [[nodiscard]] Status ExpectObject() const;
  // A failure at this place: "path: expected `expected`, found …".
  [[nodiscard]] tl::unexpected<Error> Expected(std::string_view expected) const;

 private:
  const JsonValue* value_;
  std::string path_;
};

}  // namespace unshard
