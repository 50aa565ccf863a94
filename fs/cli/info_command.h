// `unshard info`: what a source holds, for people and for programs.
#pragma once

#include <string>

#include "codec/core/error.h"

namespace unshard {

struct SourceDescription {
  std::string text;      // a tree for people, or one JSON object
  bool damaged = false;  // a dataset is broken, or the index of a shard cannot be read
};

// What `info` prints for a directory or URL. Fails where the source cannot be opened or holds no
// dataset; a broken dataset in a larger source is a part of the description.
Result<SourceDescription> DescribeSource(const std::string& source, bool json);

}  // namespace unshard
