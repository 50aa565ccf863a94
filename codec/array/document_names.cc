#include "codec/array/document_names.h"

#include <algorithm>

namespace unshard {
namespace {

struct DocumentName {
  Dialect dialect;
  const char* name;
};
constexpr std::array kDocumentNames = {
    DocumentName{Dialect::kPrecomputed, "info"}, DocumentName{Dialect::kZarr3, "zarr.json"},
    DocumentName{Dialect::kZarr2, ".zarray"}, DocumentName{Dialect::kN5, "attributes.json"}};

}  // namespace

const char* ArrayDocumentName(Dialect dialect) {
  return std::find_if(kDocumentNames.begin(), kDocumentNames.end(),
                      [&](const DocumentName& one) { return one.dialect == dialect; })
      ->name;
}

std::optional<Dialect> DialectOfDocument(std::string_view name) {
  for (const DocumentName& one : kDocumentNames) {
    if (one.name == name) return one.dialect;
  }
  return std::nullopt;
}

bool DescribesArrays(Dialect dialect, const JsonValue& document) {
  switch (dialect) {
    case Dialect::kPrecomputed:
      return document.Find("scales") != nullptr;
    case Dialect::kZarr3:
      return TextOf(document, "node_type") == "array";
    case Dialect::kZarr2:
      return document.is_object();
    case Dialect::kN5:
      break;
  }
  return document.Find("dimensions") != nullptr;
}

}  // namespace unshard
