// Reads index pages of shards that are in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "codec/shard/format.h"

namespace unshard {

// Feeds the walk the ranges of `object` that it requests, and returns the page. Fails also where
// the walk requests more than five ranges, which no format needs.
inline Result<IndexPage> WalkInMemory(const ShardFormat& format, ByteSpan object,
                                      std::uint64_t shard, std::uint64_t page,
                                      std::uint64_t max_index_bytes = 1 << 20) {
  const auto walk = format.Walk(shard, page, max_index_bytes);
  RangeRequest request = walk->Start();
  for (int asked = 0; asked < 5; ++asked) {
    const std::uint64_t all = object.size();
    const std::uint64_t begin =
        request.suffix ? all - std::min(all, request.size) : std::min(all, request.begin);
    const ByteSpan bytes = object.subspan(begin, std::min(request.size, all - begin));
    UNSHARD_ASSIGN_OR_RETURN(IndexStep step, walk->Feed(bytes, all));
    if (auto* const done = std::get_if<IndexPage>(&step)) return std::move(*done);
    request = std::get<RangeRequest>(step);
  }
  return Fail(ErrorCode::kInternal, "the walk does not end");
}

}  // namespace unshard
