#include "store/dataset/layout.h"

#include "codec/json/json.h"
#include "codec/json/meaning.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"

namespace unshard {

std::string LayoutOf(std::string_view text) {
  auto document = ParseJson(text);
  if (!document) return {};
  for (const char* other : {"attributes", "dimension_names", "fill_value"}) document->Erase(other);
  return WriteJson(*document, 0);
}

bool SameJson(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  if (a == b) return true;
  const auto one = ParseJson(a);
  const auto other = ParseJson(b);
  return one && other && SameMeaning(*one, *other);
}

}  // namespace unshard
