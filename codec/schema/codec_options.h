// The options of codecs in TensorStore's schemas: their names, values and defaults. Pure;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"

namespace unshard {

// One option: a whole number between bounds, a boolean, or one of some words.
struct ConstraintOption {
  enum class Type { kInteger, kBoolean, kWord };
  std::string_view name;
  Type type = Type::kInteger;
  std::int64_t min = 0;  // kInteger
  std::int64_t max = 0;
  std::span<const std::string_view> words = {};  // kWord
  // The JSON text of the default value; empty: there is none.
  std::string_view fallback = {};
};

// Parses the member that `option` names into its canonical form; nothing where it is absent. Fails,
// naming the JSON path and what was expected.
Result<std::optional<JsonValue>> ParseOption(const JsonCursor& object,
                                             const ConstraintOption& option);

// Parses a compressor of Zarr v2 or N5: an object whose member `id_key` is the id of an entry in
// `known`. Absent options get their defaults. Fails, naming the JSON path, for unknown compressors
// and members, and where an option without a default is absent.
struct KnownCompressor {
  std::string_view id;
  std::vector<ConstraintOption> options;
};
Result<JsonValue> ParseCompressor(const JsonCursor& object, std::string_view id_key,
                                  std::span<const KnownCompressor> known);

// The compressors of Blosc in TensorStore, by their names in Zarr and N5.
std::span<const std::string_view> BloscCompressors();
constexpr std::int64_t kMaxBloscTypeSize = 255;
constexpr std::int64_t kMaxBloscBlockSize = 715827542;
// The range of levels of zstd.
constexpr std::int64_t kMinZstdLevel = -131072;
constexpr std::int64_t kMaxZstdLevel = 22;

}  // namespace unshard
