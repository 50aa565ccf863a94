// Bytes for tests, from their hexadecimal digits.
#pragma once

#include <cstdint>
#include <string_view>

#include "codec/core/bytes.h"

namespace unshard {

// Two digits a byte; blanks are skipped. Requires: lower case, and nothing else.
inline ByteVector FromHex(std::string_view hex) {
  ByteVector bytes;
  unsigned digits = 0;
  for (const char c : hex) {
    if (c == ' ') continue;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (digits++ % 2 == 0) {
      bytes.push_back(static_cast<std::uint8_t>(digit << 4));
    } else {
      bytes.back() = static_cast<std::uint8_t>(bytes.back() | digit);
    }
  }
  return bytes;
}

}  // namespace unshard
