// Reading of a JSON tree whose form is known: each failure names the JSON path. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/core/error.h"
#include "codec/json/json.h"

namespace unshard {

// The path of the member `key` of the value at `path` ("" is the document), in brackets and quotes
// unless it is a plain name; and of an item of the array at `path`: "scales[2].sharding".
std::string MemberPath(const std::string& path, std::string_view key);
std::string ItemPath(const std::string& path, std::size_t index);

class JsonCursor;

// A member that an object may have, and what reads it.
struct MemberReader {
  std::string key;
  std::function<Status(const JsonCursor& member)> read;
};

// Sets `target` to the value of a result, or returns its error.
template <class T, class U>
Status Assign(T& target, Result<U> result) {
  UNSHARD_ASSIGN_OR_RETURN(target, std::move(result));
  return {};
}

// One value of a tree, and its path. Refers to the tree. Every failure is kDataLoss and says what
// was expected: "scales[2].sharding.hash: expected a string, found the number 3".
class JsonCursor {
 public:
  JsonCursor(const JsonValue& value, std::string path) : value_(&value), path_(std::move(path)) {}

  [[nodiscard]] const JsonValue& value() const { return *value_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  // The member `key`. Fails where there is none, or this is no object.
  [[nodiscard]] Result<JsonCursor> Member(std::string_view key) const;
  // Nothing where the member `key` is absent or null. Fails where this is no object.
  [[nodiscard]] Result<std::optional<JsonCursor>> OptionalMember(std::string_view key) const;
  // All members of an object in the order of `readers`, a null too. Fails, naming it, for a member
  // without a reader, and for a value that is no object.
  [[nodiscard]] Status ReadMembers(const std::vector<MemberReader>& readers) const;
  // The items of an array with at most `max_items`.
  [[nodiscard]] Result<std::vector<JsonCursor>> Items(std::size_t max_items = 1u << 20) const;
  [[nodiscard]] Result<std::string> String() const;
  // String() and Unsigned() of the member `key`.
  [[nodiscard]] Result<std::string> StringMember(std::string_view key) const;
  [[nodiscard]] Result<std::uint64_t> UnsignedMember(
      std::string_view key, std::uint64_t min = 0,
      std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) const;
  // UnescapeBytes (codec/core/escaped_text.h) of the string member `key`.
  [[nodiscard]] Result<std::string> EscapedMember(std::string_view key) const;
  [[nodiscard]] Result<bool> Boolean() const;
  // A whole number between the bounds, both inclusive. 3.0 and 3e0 count as 3.
  [[nodiscard]] Result<std::uint64_t> Unsigned(std::uint64_t min, std::uint64_t max) const;
  [[nodiscard]] Result<std::int64_t> Integer(std::int64_t min, std::int64_t max) const;
  // An array of such numbers.
  [[nodiscard]] Result<std::vector<std::uint64_t>> UnsignedItems(std::uint64_t min,
                                                                 std::uint64_t max) const;
  // Fails unless this is an object.
  [[nodiscard]] Status ExpectObject() const;
  // The failure "path: expected `expected`, found …".
  [[nodiscard]] tl::unexpected<Error> Expected(std::string_view expected) const;

 private:
  const JsonValue* value_;
  std::string path_;
};

}  // namespace unshard
