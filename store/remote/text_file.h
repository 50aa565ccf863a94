// Reading a small file of the user's, such as a secret.
#pragma once

#include <optional>
#include <string>

#include "codec/core/error.h"

namespace unshard {

// The text of a file of at most 1 MiB; nothing where it is missing. The message names the file, and
// holds none of its text.
Result<std::optional<std::string>> ReadTextFile(const std::string& path);

}  // namespace unshard
