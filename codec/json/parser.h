// Parsing of JSON text into a tree.
//
// Python's bare NaN, Infinity and -Infinity are accepted as number tokens, because zarr-python
// writes them into attributes.
#pragma once

#include <cstddef>
#include <string_view>

#include "codec/core/error.h"
#include "codec/json/json.h"

namespace unshard {

struct JsonLimits {
  std::size_t max_bytes = std::size_t{64} << 20;
  std::size_t max_depth = 64;
  // Bounds the memory of the tree: 40 bytes a value, 72 a member, and the texts.
  std::size_t max_values = std::size_t{8} << 20;
};

// Parses one document. Fails with kDataLoss, naming line and column, on malformed text, bytes that
// are not UTF-8, a key that occurs twice in an object, text after the document, or more than
// `limits` allow.
Result<JsonValue> ParseJson(std::string_view text, const JsonLimits& limits = {});

}  // namespace unshard
