// Escaping of untrusted bytes: file names, and messages that quote them.
// Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace unshard {

// For a JSON string: each byte that is not UTF-8, and NUL itself, becomes the character NUL (in
// JSON "\u0000"), which no file name contains, and two hexadecimal digits. All other text is
// unchanged.
std::string EscapeBytes(std::string_view text);
// The inverse. Text that EscapeBytes never returns is returned unchanged.
std::string UnescapeBytes(std::string_view text);

// For one line on a terminal: control characters (also DEL and U+0080 to U+009F) and bytes that are
// not UTF-8 become "\xNN", so that a name cannot move the cursor or change a colour.
std::string Printable(std::string_view text);

}  // namespace unshard
