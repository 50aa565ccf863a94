#include "store/shard/index_driver.h"

#include <algorithm>
#include <utility>

#include "store/object/object_store.h"

namespace unshard {
namespace {

// More requests than a walk of any format makes: an index that is nested without end must not hang
// a thread.
constexpr int kMaxRequests = 256;
// Entries this small are adjacent to those of other pages: one read fetches them together.
constexpr std::uint64_t kSmallEntry = 64;
constexpr std::uint64_t kWindow = std::uint64_t{64} << 10;

bool Covers(const ByteRange& outer, const ByteRange& inner) {
  return outer.begin <= inner.begin && inner.end() <= outer.end();
}

}  // namespace

IndexDriver::IndexDriver(const ShardFormat& format, std::uint64_t shard, IndexedObject object,
                         HeldIndex held, HeldIndex tail)
    : format_(format),
      shard_(shard),
      object_(std::move(object)),
      held_(std::move(held)),
      tail_(std::move(tail)) {}

Result<IndexPage> IndexDriver::Page(std::uint64_t page, std::uint64_t max_index_bytes) {
  const std::unique_ptr<IndexWalk> walk = format_.Walk(shard_, page, max_index_bytes);
  RangeRequest request = walk->Start();
  for (int i = 0; i < kMaxRequests; ++i) {
    if (request.size > max_index_bytes) {
      return Fail(ErrorCode::kResourceExhausted, object_.describe(), ": an index of ", request.size,
                  " bytes is above the cap of ", max_index_bytes);
    }
    UNSHARD_ASSIGN_OR_RETURN(const Bytes bytes, Fetch(ClipRange(request, object_.size), i == 0));
    auto step = walk->Feed(bytes.span(), object_.size);
    if (!step) return Forward(std::move(step).error(), object_.describe());
    if (auto* loaded = std::get_if<IndexPage>(&*step)) return std::move(*loaded);
    request = std::get<RangeRequest>(*step);
  }
  return Fail(ErrorCode::kDataLoss, object_.describe(), ": its index is nested too deeply");
}

std::optional<ByteRange> IndexDriver::FirstRead(std::uint64_t page,
                                                std::uint64_t max_index_bytes) const {
  const std::unique_ptr<IndexWalk> walk = format_.Walk(shard_, page, max_index_bytes);
  RangeRequest request = walk->Start();
  for (int i = 0; i < kMaxRequests && request.size <= max_index_bytes; ++i) {
    const ByteRange range = ClipRange(request, object_.size);
    const auto bytes = Held(range);
    if (!bytes) return i == 0 ? Widened(range) : range;
    const auto step = walk->Feed(bytes->span(), object_.size);
    if (!step || !std::holds_alternative<RangeRequest>(*step)) break;
    request = std::get<RangeRequest>(*step);
  }
  return std::nullopt;
}

std::optional<Bytes> IndexDriver::Held(const ByteRange& range) const {
  if (range.size == 0) return Bytes();
  for (const HeldIndex* const held : {&held_, &tail_}) {
    if (!Covers(held->range, range)) continue;
    return held->bytes.Slice(static_cast<std::size_t>(range.begin - held->range.begin),
                             static_cast<std::size_t>(range.size));
  }
  return std::nullopt;
}

Result<Bytes> IndexDriver::Fetch(const ByteRange& range, bool of_own_index) {
  if (!of_own_index || range != last_own_index_) index_bytes_ += range.size;
  if (of_own_index) last_own_index_ = range;
  if (auto held = Held(range)) return *std::move(held);
  HeldIndex piece{of_own_index ? Widened(range) : range, Bytes()};
  UNSHARD_ASSIGN_OR_RETURN(piece.bytes, object_.read(piece.range));
  if (piece.bytes.size() != piece.range.size) {
    return Fail(ErrorCode::kDataLoss, object_.describe(), ": became shorter while it was read");
  }
  Bytes bytes = piece.bytes.Slice(static_cast<std::size_t>(range.begin - piece.range.begin),
                                  static_cast<std::size_t>(range.size));
  if (of_own_index) held_ = std::move(piece);
  return bytes;
}

ByteRange IndexDriver::Widened(const ByteRange& range) const {
  const ByteRange opening = ClipRange(format_.opening_range(), object_.size);
  if (Covers(opening, range)) return opening;
  const std::uint64_t begin = range.begin / kWindow * kWindow;
  const ByteRange window{begin, std::min(kWindow, object_.size - begin)};
  return range.size <= kSmallEntry && Covers(window, range) ? window : range;
}

Result<ShardIndex> IndexDriver::AllPages(std::uint64_t max_index_bytes) {
  ShardIndex index;
  std::uint64_t left = max_index_bytes;
  for (std::uint64_t page = 0; page < format_.page_count(); ++page) {
    UNSHARD_ASSIGN_OR_RETURN(const IndexPage loaded, Page(page, left));
    if (loaded.left_out() != 0) {
      return Fail(ErrorCode::kDataLoss, object_.describe(), ": page ", page, " holds ",
                  loaded.left_out(),
                  " chunks whose ids belong to other pages or shards by the `sharding` of the "
                  "metadata, which may be wrong");
    }
    const std::uint64_t bytes = loaded.entries().size() * sizeof(StoredChunk);
    if (bytes > left) {
      return Fail(ErrorCode::kResourceExhausted, object_.describe(),
                  ": its index is above the cap of ", max_index_bytes, " bytes in memory");
    }
    left -= bytes;
    if (page == 0) index.chunks.reserve(loaded.entries().size());  // often the only one
    for (const IndexEntry& entry : loaded.entries()) {
      index.chunks.push_back({page, entry.slot, entry.range});
    }
  }
  index.bytes = std::min(index_bytes_, object_.size);
  return index;
}

}  // namespace unshard
