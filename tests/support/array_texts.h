// Arrays of the texts of metadata documents. They fail where chunks cannot become voxels.
#pragma once

#include <string_view>

#include "codec/json/parser.h"
#include "codec/pyramid/array_documents.h"

namespace unshard {

inline Result<ArrayMetadata> ArrayOfText(ArrayDialect dialect, std::string_view text,
                                         std::string_view attributes = "") {
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue document, ParseJson(text));
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue beside,
                           ParseJson(attributes.empty() ? "null" : attributes));
  return ReadArray(dialect, document, beside);
}
inline Result<ArrayMetadata> ParseZarr3Array(std::string_view text) {
  return ArrayOfText(ArrayDialect::kZarr3, text);
}
inline Result<ArrayMetadata> ParseZarr2Array(std::string_view text,
                                             std::string_view attributes = "") {
  return ArrayOfText(ArrayDialect::kZarr2, text, attributes);
}
inline Result<ArrayMetadata> ParseN5Dataset(std::string_view text) {
  return ArrayOfText(ArrayDialect::kN5, text);
}

}  // namespace unshard
