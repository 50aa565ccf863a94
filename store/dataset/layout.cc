#include "store/dataset/layout.h"

#include "codec/json/meaning.h"
#include "codec/json/parser.h"

namespace unshard {

bool SameJson(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  if (a == b) return true;
  const auto one = ParseJson(a);
  const auto other = ParseJson(b);
  return one && other && SameMeaning(*one, *other);
}

}  // namespace unshard
