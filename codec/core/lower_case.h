// For names that are compared without regard to case. Pure; thread-safe.
#pragma once

#include <cctype>
#include <string>

namespace unshard {

// The letters A to Z in lower case; other characters are unchanged.
inline std::string LowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace unshard
