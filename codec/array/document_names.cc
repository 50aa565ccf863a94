#include "codec/array/document_names.h"

#include <algorithm>

namespace unshard {
namespace {

struct DocumentName {
  ArrayDialect dialect;
  const char* name;
};
constexpr std::array kDocumentNames = {DocumentName{ArrayDialect::kPrecomputed, "info"},
                                       DocumentName{ArrayDialect::kZarr3, "zarr.json"},
                                       DocumentName{ArrayDialect::kZarr2, ".zarray"},
                                       DocumentName{ArrayDialect::kN5, "attributes.json"}};

}  // namespace

const char* ArrayDocumentName(ArrayDialect dialect) {
  return std::find_if(kDocumentNames.begin(), kDocumentNames.end(),
                      [&](const DocumentName& one) { return one.dialect == dialect; })
      ->name;
}

std::optional<ArrayDialect> DialectOfDocument(std::string_view name) {
  for (const DocumentName& one : kDocumentNames) {
    if (one.name == name) return one.dialect;
  }
  return std::nullopt;
}

bool DescribesArrays(ArrayDialect dialect, const JsonValue& document) {
  switch (dialect) {
    case ArrayDialect::kPrecomputed:
      return document.Find("scales") != nullptr;
    case ArrayDialect::kZarr3:
      return TextOf(document, "node_type") == "array";
    case ArrayDialect::kZarr2:
      return document.is_object();
    case ArrayDialect::kN5:
      break;
  }
  return document.Find("dimensions") != nullptr;
}

}  // namespace unshard
