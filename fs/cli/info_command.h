// `unshard info`: what a source holds, for people and for programs.
#pragma once

#include <string>

#include "codec/core/error.h"

namespace unshard {

// The text that `info` prints for a directory or URL: a tree for people, or one JSON object. Fails
// where the source cannot be opened or holds no dataset; a broken dataset in a larger source is
// shown as such.
Result<std::string> DescribeSource(const std::string& source, bool json);

}  // namespace unshard
