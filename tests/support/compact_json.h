// JSON on one line without white space, to compare with texts.
#pragma once

#include <string>

#include "codec/json/writer.h"

namespace unshard {

// Requires: no string of the value has a space after a comma or a colon.
inline std::string CompactJson(const JsonValue& value) {
  std::string compact;
  for (const char c : WriteJson(value, 0)) {
    const bool separates = !compact.empty() && (compact.back() == ',' || compact.back() == ':');
    if (c != ' ' || !separates) compact += c;
  }
  return compact;
}

}  // namespace unshard
