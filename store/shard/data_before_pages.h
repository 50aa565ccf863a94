// How far before an index page the data of its chunks begin.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "codec/core/byte_range.h"
#include "codec/shard/format.h"

namespace unshard {

// Some writers (TensorStore) put each index page right behind the data of its chunks, in all shards
// of a scale. Whether that is so, and how many bytes the data are, is learned from each page that
// is loaded. Where they are few, a page is requested together with the bytes before it: reading its
// chunk costs no further round trip. Thread-safe.
class DataBeforePages {
 public:
  // The most that is requested with a page: its transfer takes about as long as the round trip that
  // it saves.
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

  // The range of a page, extended to the data that are likely to precede it; never into the first
  // `index_bytes` of the object. `page` itself where the data are elsewhere.
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
