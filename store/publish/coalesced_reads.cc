#include "store/publish/coalesced_reads.h"

#include <algorithm>
#include <utility>

namespace unshard {

void CoalescedReads::Announce(std::vector<ByteRange> ranges) {
  announced_ = std::move(ranges);
  std::sort(announced_.begin(), announced_.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
}

Result<Bytes> CoalescedReads::Read(const ByteRange& range) {
  const bool held = range.begin >= window_.begin && range.end() <= window_.end();
  if (!held) {
    std::uint64_t end = range.end();
    auto next = std::upper_bound(announced_.begin(), announced_.end(), range.begin,
                                 [](std::uint64_t at, const ByteRange& a) { return at < a.begin; });
    for (; next != announced_.end() && next->begin <= end + kMostBetween; ++next) {
      if (next->end() - range.begin > kMostTogether) break;
      end = std::max(end, next->end());
    }
    const ByteRange window{range.begin, end - range.begin};
    window_ = {};
    UNSHARD_ASSIGN_OR_RETURN(bytes_, object_.Read(window));
    if (bytes_.size() != window.size) {
      return Fail(ErrorCode::kDataLoss, object_.described(), ": is shorter than announced");
    }
    window_ = window;
  }
  return bytes_.Slice(static_cast<std::size_t>(range.begin - window_.begin),
                      static_cast<std::size_t>(range.size));
}

}  // namespace unshard
