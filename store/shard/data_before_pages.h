// Where writers put the data of chunks in relation to the index page that locates them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "codec/core/byte_range.h"
#include "codec/shard/format.h"

namespace unshard {

// Some writers put each index page right behind the data of its chunks (TensorStore), in all shards
// of a scale. Each page that is loaded tells whether it stands so, and how many bytes they are:
// where these are few, the next page and what stands before it are one request, and its chunk costs
// no trip more. Thread-safe.
class DataBeforePages {
 public:
  // The most that is requested with a page: on the wire it takes about as long as the trip that it
  // saves.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{512} << 10;

  // `stored`: the range of the page.
  void Learn(const IndexPage& page, const ByteRange& stored) {
    std::uint64_t begin = stored.begin, end = 0;
    for (const IndexEntry& entry : page.entries()) {
      if (entry.damaged()) continue;
      begin = std::min(begin, entry.range.begin);
      end = std::max(end, entry.range.end());
    }
    const bool before = end == stored.begin && stored.begin - begin <= kMostBytes;
    bytes_.store(before ? stored.begin - begin : 0, std::memory_order_relaxed);
  }

  // A page with what is likely to stand before it, behind the first `index_bytes` of the object;
  // `page` itself where nothing is.
  [[nodiscard]] ByteRange With(const ByteRange& page, std::uint64_t index_bytes) const {
    const std::uint64_t learned = bytes_.load(std::memory_order_relaxed);
    // Pages differ a little.
    const std::uint64_t before =
        std::min(learned + learned / 8, page.begin - std::min(page.begin, index_bytes));
    return {page.begin - before, before + page.size};
  }

 private:
  std::atomic<std::uint64_t> bytes_{0};  // 0: they are elsewhere, or many
};

}  // namespace unshard
