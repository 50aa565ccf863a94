// A lossless, order-preserving JSON tree: members keep their order, numbers their exact spelling.
//
// Metadata documents are rewritten by editing this tree, so that whatever an edit does not name
// survives. Python's bare NaN, Infinity and -Infinity are accepted as number tokens, because
// zarr-python writes them into attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/error.h"

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

  [[nodiscard]] Type type() const { return type_; }
  [[nodiscard]] bool is_null() const { return type_ == Type::kNull; }
  [[nodiscard]] bool is_object() const { return type_ == Type::kObject; }
  [[nodiscard]] bool is_array() const { return type_ == Type::kArray; }
  [[nodiscard]] bool is_string() const { return type_ == Type::kString; }
  [[nodiscard]] bool is_number() const { return type_ == Type::kNumber; }
  [[nodiscard]] bool is_boolean() const { return type_ == Type::kBoolean; }

  [[nodiscard]] bool boolean() const { return boolean_; }
  // The number token, or the string's value.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<JsonValue>& items() const { return items_; }
  [[nodiscard]] std::vector<JsonValue>& items() { return items_; }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] std::vector<Member>& members() { return members_; }

  // The member `key` of an object; null pointer where there is none or this is no object.
  [[nodiscard]] const JsonValue* Find(std::string_view key) const;
  [[nodiscard]] JsonValue* Find(std::string_view key);
  // Replaces the member in its place, or appends it. Requires: an object.
  void Set(std::string_view key, JsonValue value);
  // True where a member was removed.
  bool Erase(std::string_view key);

  // Same JSON meaning: objects regardless of member order, numbers by token.
  friend bool operator==(const JsonValue& a, const JsonValue& b);

 private:
  Type type_ = Type::kNull;
  bool boolean_ = false;
  std::string text_;
  std::vector<JsonValue> items_;
  std::vector<Member> members_;
};

struct JsonLimits {
  std::size_t max_bytes = std::size_t{64} << 20;
  std::size_t max_depth = 64;
};

// Parses one document. Fails with kDataLoss naming line and column for malformed text, bytes that
// are not UTF-8, a member that stands twice, trailing text, or a limit that is exceeded.
Result<JsonValue> ParseJson(std::string_view text, const JsonLimits& limits = {});

// The text of a value, with `indent` spaces a level (0: on one line), ending without a newline.
std::string WriteJson(const JsonValue& value, int indent = 2);

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
