#include "store/shard/object.h"

#include <algorithm>
#include <optional>

#include "store/object/read_through.h"

namespace unshard {
namespace {

// No format asks this often; one that would never end must not hang a thread.
constexpr int kMaxRequests = 256;
// Index entries this small stand beside those of the next pages: they are read many at once.
constexpr std::uint64_t kSmallRequest = 64;
constexpr std::uint64_t kWindow = std::uint64_t{64} << 10;

// The reads of all walks to the pages of one object.
class IndexReader {
 public:
  IndexReader(const ShardObject& object, std::uint64_t max_index_bytes)
      : object_(object), max_index_bytes_(max_index_bytes) {}

  // Valid until the next call. `first`: what walks to other pages begin with as well, perhaps.
  Result<ByteSpan> Read(const RangeRequest& request, bool first) {
    if (request.size > max_index_bytes_) {
      return Fail(ErrorCode::kResourceExhausted,
                  object_.described() + ": an index of " + std::to_string(request.size) +
                      " bytes is above the cap of " + std::to_string(max_index_bytes_));
    }
    if (first && first_ && *first_ == request) return first_bytes_.span();
    const ByteRange range = ClipRange(request, object_.size());
    bytes_read_ += range.size;
    if (range.size <= kSmallRequest) return ReadInWindow(range);
    Bytes& bytes = first ? first_bytes_ : bytes_;
    UNSHARD_ASSIGN_OR_RETURN(bytes, object_.Read(range));
    if (first) first_ = request;
    return bytes.span();
  }
  // Of the object, each range once.
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  Result<ByteSpan> ReadInWindow(const ByteRange& range) {
    if (range.begin < window_begin_ || range.end() > window_begin_ + window_.size()) {
      const std::uint64_t size = std::min(kWindow, object_.size() - range.begin);
      UNSHARD_ASSIGN_OR_RETURN(window_, object_.Read({range.begin, size}));
      window_begin_ = range.begin;
    }
    return window_.span().subspan(static_cast<std::size_t>(range.begin - window_begin_),
                                  static_cast<std::size_t>(range.size));
  }

  const ShardObject& object_;
  const std::uint64_t max_index_bytes_;
  std::optional<RangeRequest> first_;
  Bytes first_bytes_;
  Bytes bytes_;
  Bytes window_;
  std::uint64_t window_begin_ = 0;
  std::uint64_t bytes_read_ = 0;
};

Result<IndexPage> WalkTo(IndexWalk& walk, IndexReader& reader, const ShardObject& object) {
  RangeRequest request = walk.Start();
  for (int i = 0; i < kMaxRequests; ++i) {
    UNSHARD_ASSIGN_OR_RETURN(const ByteSpan bytes, reader.Read(request, i == 0));
    auto step = walk.Feed(bytes, object.size());
    if (!step) return Forward(std::move(step).error(), object.described());
    if (auto* page = std::get_if<IndexPage>(&*step)) return std::move(*page);
    request = std::get<RangeRequest>(*step);
  }
  return Fail(ErrorCode::kDataLoss, object.described() + ": its index is nested without end");
}

}  // namespace

Result<Bytes> ShardObject::Read(const ByteRange& range) const {
  if (!MakeByteRange(range.begin, range.size, size())) {
    return Fail(ErrorCode::kDataLoss, described_ + ": an index entry reaches beyond the end");
  }
  if (range.size == 0) return Bytes();
  UNSHARD_ASSIGN_OR_RETURN(ReadResult read,
                           object_->Read(RangeRequest::At(range.begin, range.size)));
  if (read.state == ReadResult::State::kFound) return std::move(read.value);
  return Fail(ErrorCode::kConflict, described_ + ": was replaced while it was read");
}

Result<ShardObject> ShardObject::Decoded(const ShardFormat& format, std::uint64_t max_bytes) const {
  if (!format.is_wrapped() || missing()) return *this;
  if (size() > max_bytes) {
    return Fail(ErrorCode::kResourceExhausted, described_ +
                                                   ": is compressed as a whole and above the cap " +
                                                   "of " + std::to_string(max_bytes) + " bytes");
  }
  UNSHARD_ASSIGN_OR_RETURN(Bytes stored, Read({0, size()}));
  auto decoded = format.DecodeShard(std::move(stored), max_bytes);
  if (!decoded) return Forward(std::move(decoded).error(), described_);
  ObjectInfo info;
  info.size = decoded->size();
  return ShardObject(described_, MakeObjectOf(info, *std::move(decoded)));
}

Result<ShardIndex> ShardObject::ReadIndex(const ShardFormat& format, std::uint64_t shard,
                                          std::uint64_t max_index_bytes) const {
  ShardIndex index;
  if (missing()) return index;
  IndexReader reader(*this, max_index_bytes);
  std::uint64_t left = max_index_bytes;
  for (std::uint64_t page = 0; page < format.page_count(); ++page) {
    const std::unique_ptr<IndexWalk> walk = format.Walk(shard, page, left);
    UNSHARD_ASSIGN_OR_RETURN(const IndexPage loaded, WalkTo(*walk, reader, *this));
    if (loaded.left_out() != 0) {
      return Fail(ErrorCode::kDataLoss,
                  described_ + ": page " + std::to_string(page) + " holds " +
                      std::to_string(loaded.left_out()) +
                      " chunks whose ids belong to other pages or shards by the `sharding` of the "
                      "metadata, which may be wrong");
    }
    const std::uint64_t bytes = loaded.entries().size() * sizeof(StoredChunk);
    if (bytes > left) {
      return Fail(ErrorCode::kResourceExhausted, described_ + ": its index is above the cap of " +
                                                     std::to_string(max_index_bytes) +
                                                     " bytes in memory");
    }
    left -= bytes;
    if (page == 0) index.chunks.reserve(loaded.entries().size());  // often the only one
    for (const IndexEntry& entry : loaded.entries()) {
      index.chunks.push_back({page, entry.slot, entry.range});
    }
  }
  index.bytes = std::min(reader.bytes_read(), size());
  return index;
}

}  // namespace unshard
