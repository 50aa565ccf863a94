// Arrays of the texts of metadata documents. They fail where chunks cannot become voxels.
#pragma once

#include <string_view>

#include "codec/json/parser.h"
#include "codec/pyramid/array_documents.h"

namespace unshard {

inline Result<Array> ArrayOfText(Dialect dialect, std::string_view text,
                                 std::string_view attributes = "") {
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue document, ParseJson(text));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue beside,
                           ParseJson(attributes.empty() ? "null" : attributes));
  return ReadArray(dialect, document, beside);
}
inline Result<Array> ParseZarr3Array(std::string_view text) {
  return ArrayOfText(Dialect::kZarr3, text);
}
inline Result<Array> ParseZarr2Array(std::string_view text, std::string_view attributes = "") {
  return ArrayOfText(Dialect::kZarr2, text, attributes);
}
inline Result<Array> ParseN5Dataset(std::string_view text) {
  return ArrayOfText(Dialect::kN5, text);
}

}  // namespace unshard
