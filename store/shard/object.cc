#include "store/shard/object.h"

#include <algorithm>
#include <new>
#include <optional>

#include "store/local/memory_file.h"
#include "store/object/object_store.h"

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
    if (first && first_ && *first_ == request) return ByteSpan(first_bytes_);
    const ByteRange range = ClipRange(request, object_.size());
    bytes_read_ += range.size;
    if (range.size <= kSmallRequest) return ReadInWindow(range);
    ByteVector& bytes = first ? first_bytes_ : bytes_;
    UNSHARD_ASSIGN_OR_RETURN(bytes, object_.Read(range));
    if (first) first_ = request;
    return ByteSpan(bytes);
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
    return ByteSpan(window_).subspan(static_cast<std::size_t>(range.begin - window_begin_),
                                     static_cast<std::size_t>(range.size));
  }

  const ShardObject& object_;
  const std::uint64_t max_index_bytes_;
  std::optional<RangeRequest> first_;
  ByteVector first_bytes_;
  ByteVector bytes_;
  ByteVector window_;
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

void ShardObject::Add(std::shared_ptr<File> file, std::uint64_t size) {
  parts_.push_back({std::move(file), {size_, size}});
  size_ += size;
}

// Calls `visit` with the file, the range in it, and how far that is from the start of `range`.
template <class Visit>
Status ShardObject::ForEachPart(const ByteRange& range, const Visit& visit) const {
  if (!MakeByteRange(range.begin, range.size, size_)) {
    return Fail(ErrorCode::kDataLoss, described_ + ": an index entry reaches beyond the end");
  }
  for (const Part& part : parts_) {
    const std::uint64_t begin = std::max(range.begin, part.range.begin);
    const std::uint64_t end = std::min(range.end(), part.range.end());
    if (begin >= end) continue;
    UNSHARD_RETURN_IF_ERROR(
        visit(*part.file, ByteRange{begin - part.range.begin, end - begin}, begin - range.begin));
  }
  return {};
}

Result<ByteVector> ShardObject::Read(const ByteRange& range) const {
  ByteVector bytes;
  if (range.size > size_) {
    return Fail(ErrorCode::kDataLoss, described_ + ": an index entry reaches beyond the end");
  }
  try {
    bytes.resize(static_cast<std::size_t>(range.size));
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kResourceExhausted,
                described_ + ": no memory for " + std::to_string(range.size) + " bytes");
  }
  const auto read = [&](File& file, const ByteRange& part, std::uint64_t at) -> Status {
    const auto to =
        std::span(bytes).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(part.size));
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t size, file.Read(part.begin, to));
    if (size == to.size()) return {};
    return Fail(ErrorCode::kDataLoss, described_ + ": became shorter while it was read");
  };
  UNSHARD_RETURN_IF_ERROR(ForEachPart(range, read));
  return bytes;
}

Status ShardObject::CopyTo(File& to, const ByteRange& range, std::uint64_t offset) const {
  return ForEachPart(range, [&](File& file, const ByteRange& part, std::uint64_t at) {
    return to.CopyFrom(file, part, offset + at);
  });
}

Result<ShardObject> ShardObject::Decoded(const ShardFormat& format, std::uint64_t max_bytes) const {
  if (!format.is_wrapped() || missing()) return *this;
  if (size_ > max_bytes) {
    return Fail(ErrorCode::kResourceExhausted, described_ +
                                                   ": is compressed as a whole and above the cap " +
                                                   "of " + std::to_string(max_bytes) + " bytes");
  }
  UNSHARD_ASSIGN_OR_RETURN(ByteVector stored, Read({0, size_}));
  auto decoded = format.DecodeShard(Bytes(std::move(stored)), max_bytes);
  if (!decoded) return Forward(std::move(decoded).error(), described_);
  auto file = std::make_shared<MemoryFile>(described_, max_bytes);
  UNSHARD_RETURN_IF_ERROR(file->Write(0, decoded->span()));
  ShardObject result(described_);
  result.Add(std::move(file), decoded->size());
  return result;
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
  index.bytes = std::min(reader.bytes_read(), size_);
  return index;
}

}  // namespace unshard
