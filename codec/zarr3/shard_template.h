// Shards for new Zarr v3 arrays whose writers know of none. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"

namespace unshard {

// The extents of shards, one a dimension; a single one is that of every dimension.
struct ShardTemplate {
  struct Extent {
    std::uint64_t count = 1;
    bool in_chunks = false;  // else in elements: rounded up to whole chunks
  };
  std::vector<Extent> extents;
  std::string text;  // as it was given
};

// Parses "256x256x512" (elements), "8c" (chunks) and "1cx8cx8c". Fails with kInvalidArgument.
Result<ShardTemplate> ParseShardTemplate(std::string_view text);

// The `zarr.json` of the same array with its chunks in shards: a shard has no more chunks along a
// dimension than the array. Nothing where `text` is no such array: a group, an array that is
// sharded already or has no regular grid or another rank than the template, one whose shards would
// hold one chunk or more than 2^30. The text of a reader that does not know of shards stays the
// same.
std::optional<std::string> WithShards(std::string_view text, const ShardTemplate& shards);

}  // namespace unshard
