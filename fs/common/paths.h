// Directories that a dataset's metadata names, relative to the directory of the metadata.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/object/key.h"

namespace unshard {

// `directory` relative to `base`, without "." and ".."; nothing where it leaves the root. Pure.
std::optional<std::string> ResolvePath(std::string_view base, std::string_view directory);

}  // namespace unshard
