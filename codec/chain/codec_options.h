// The options of one codec where a document lists it. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "codec/chain/definition.h"
#include "codec/core/error.h"
#include "codec/json/cursor.h"

namespace unshard {

// Failures are kDataLoss and name the member of the document. Refers to the JSON.
class CodecOptions {
 public:
  // `members` may be null: all are absent. `path`: their JSON path, for messages. `definition` may
  // be null: options have their own names.
  CodecOptions(const JsonValue* members, std::string path,
               const CodecDefinition* definition = nullptr, Dialect dialect = Dialect::kZarr3)
      : members_(members), path_(std::move(path)), definition_(definition), dialect_(dialect) {}

  // An option that `definition` lists, by the codec's own name.
  [[nodiscard]] Result<int> Integer(std::string_view key) const;
  // The same of any other option.
  [[nodiscard]] Result<int> Integer(std::string_view key, int absent, int min, int max) const;
  // The same of one with words: the position of the word.
  [[nodiscard]] Result<std::size_t> Word(std::string_view key) const;
  // False where it is absent.
  [[nodiscard]] Result<bool> Boolean(std::string_view key) const;
  // Nothing where it is absent or null.
  [[nodiscard]] Result<std::optional<JsonCursor>> Find(std::string_view key) const;
  // The member itself. Fails where it is absent or null.
  [[nodiscard]] Result<JsonCursor> Member(std::string_view key) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] Result<const CodecOption*> Listed(std::string_view key) const;

  const JsonValue* members_;
  std::string path_;
  const CodecDefinition* definition_;
  Dialect dialect_;
};

}  // namespace unshard
