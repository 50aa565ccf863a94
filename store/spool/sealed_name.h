// Names of files and directories in a spool. spool.h defines the names of sealed chunks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace unshard {

// The longest name that file systems take.
inline constexpr std::size_t kMaxFileName = 255;

// The directory of a dataset below chunks/ and conflicts/: its path with "/" written "%2F" and "%"
// written "%25"; "%2E" for the source itself. A path that is too long for a name is cut and ends
// with its checksum, so that only `.path` has it whole.
std::string DatasetDirectory(std::string_view dataset);

// What the file `.path` in that directory says, and the dataset that it names; nothing for text
// that is not whole or is in another directory.
std::string DatasetPathText(std::string_view dataset);
std::optional<std::string> ParseDatasetPath(std::string_view text, std::string_view directory_name);

// "/" and "%" escaped, and back; nothing for text that EscapeName does not give.
std::string EscapeName(std::string_view text);
std::optional<std::string> UnescapeName(std::string_view name);

}  // namespace unshard
