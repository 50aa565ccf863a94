// Paths below the root of the source: components joined by '/', "" is the root. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace unshard {

// `directory` relative to `base`, without "." and ".."; nothing where it leaves the root.
std::optional<std::string> ResolvePath(std::string_view base, std::string_view directory);
// "a/b" and "c" give "a/b/c"; either may be empty.
std::string JoinPath(std::string_view directory, std::string_view name);
std::string ParentPath(std::string_view path);
std::string BaseName(std::string_view path);

}  // namespace unshard
