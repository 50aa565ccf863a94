// Text made of bytes that anybody may have chosen: names of files, and messages that quote them.
// Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace unshard {

// For a member of a JSON document: a byte that is not UTF-8, and NUL itself, becomes the character
// NUL (in JSON "\u0000"), which no name holds, and two hexadecimal digits. All other text stays as
// it is.
std::string EscapeBytes(std::string_view text);
// The inverse. Text that EscapeBytes does not give is returned as it is.
std::string UnescapeBytes(std::string_view text);

// For a terminal, on one line: control characters, DEL, those of U+0080 to U+009F and bytes that
// are not UTF-8 become "\xNN", so that nothing in a name moves the cursor or changes a colour.
std::string Printable(std::string_view text);

}  // namespace unshard
