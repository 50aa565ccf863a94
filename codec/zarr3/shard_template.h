// Shards for new Zarr v3 arrays of programs that write without sharding (`-o shard=`). Pure;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"

namespace unshard {

// The wanted extents of shards, one for each dimension; a single one applies to every dimension.
struct ShardTemplate {
  struct Extent {
    std::uint64_t count = 1;
    bool in_chunks = false;  // else in elements: rounded up to whole chunks
  };
  std::vector<Extent> extents;
  std::string text;  // the parsed text
};

// Parses "256x256x512" (elements), "8c" (chunks) and "1cx8cx8c". Fails with kInvalidArgument,
// naming the forms and what was found.
Result<ShardTemplate> ParseShardTemplate(std::string_view text);

// The `zarr.json` in `text` with the chunks of its array in shards, which along each dimension have
// at most as many chunks as the array. Nothing where `text` is not to be changed: a group, an array
// that is sharded already, has no regular grid or another rank than the template, and one whose
// shards would have one chunk, or more than 2^30. Without sharding the result is presented as
// `text` is.
std::optional<std::string> WithShards(std::string_view text, const ShardTemplate& shards);

}  // namespace unshard
