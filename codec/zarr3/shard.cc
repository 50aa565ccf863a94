#include "codec/zarr3/shard.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "codec/zarr3/assembly.h"
#include "codec/zarr3/index.h"

namespace unshard {
namespace {

std::string Describe(std::size_t depth, const std::string& text) {
  return depth == 0 ? text : "nested shard (level " + std::to_string(depth) + "): " + text;
}

// The range of the index in a shard of this level, with the outer checksums after it.
RangeRequest IndexRequest(const ZarrFormatLevel& outer) {
  if (outer.level.index_at_start) {
    return RangeRequest::At(outer.level.leading_bytes(), outer.index.encoded_size());
  }
  return RangeRequest::Suffix(outer.index.encoded_size() + outer.level.trailing_bytes());
}

// Walks the index of each level in turn; `positions` say which nested shard to enter.
class ZarrIndexWalk final : public IndexWalk {
 public:
  ZarrIndexWalk(ZarrFormatLevelsPtr levels, std::uint64_t page, std::uint64_t max_index_bytes)
      : held_(std::move(levels)),
        positions_(PositionsOfPage(levels_, page)),
        max_index_bytes_(max_index_bytes) {}

  RangeRequest Start() override {
    const ZarrFormatLevel& outer = *levels_.front();
    // Feed() refuses an index that is too large: one byte is fetched in its place.
    if (outer.index.encoded_size() > max_index_bytes_) return RangeRequest::At(0, 1);
    return IndexRequest(outer);
  }

  Result<IndexStep> Feed(ByteSpan bytes, std::uint64_t object_size) override {
    if (depth_ == 0) {
      if (bytes.size() > object_size) {
        return Fail(ErrorCode::kInternal, "more bytes than the object has");
      }
      UNSHARD_RETURN_IF_ERROR(Enter({0, object_size}));
      bytes = WithoutOuterBytes(bytes, object_size);
    }
    const ZarrFormatLevel& current = *levels_[depth_];
    if (bytes.size() != index_range_.size) {
      return Fail(ErrorCode::kDataLoss,
                  Describe(depth_, "shard index: expected " + std::to_string(index_range_.size) +
                                       " bytes, found " + std::to_string(bytes.size())));
    }
    UNSHARD_ASSIGN_OR_RETURN(const ByteVector index, current.index.Decode(bytes, body_.size));
    if (depth_ + 1 == levels_.size()) return MakePage(index);
    // The number of pages is that of the largest shard.
    if (positions_[depth_] >= current.level.chunk_count) return IndexPage();
    const ZarrIndexRow row = current.index.Row(index, positions_[depth_]);
    if (row.empty()) return IndexPage();
    const ByteRange nested = Locate(row);
    ++depth_;
    if (nested == kDamagedRange) {
      return Fail(ErrorCode::kDataLoss,
                  Describe(depth_, "offset " + std::to_string(row.offset) + " and size " +
                                       std::to_string(row.size) + " do not lie within the " +
                                       std::to_string(body_.size) + " bytes of its outer shard"));
    }
    UNSHARD_RETURN_IF_ERROR(Enter(nested));
    return RangeRequest::At(index_range_.begin, index_range_.size);
  }

 private:
  // Begins the shard of the current depth, which is at `shard` in the object: finds its index.
  Status Enter(const ByteRange& shard) {
    const ZarrFormatLevel& current = *levels_[depth_];
    const ZarrIndexCodec& reader = current.index;
    if (reader.encoded_size() > max_index_bytes_) {
      return Fail(ErrorCode::kResourceExhausted,
                  Describe(depth_, "shard index: takes " + std::to_string(reader.encoded_size()) +
                                       " bytes, more than the limit of " +
                                       std::to_string(max_index_bytes_)));
    }
    const std::uint64_t outer = current.level.leading_bytes() + current.level.trailing_bytes();
    if (shard.size < outer + reader.smallest_size()) {
      return Fail(ErrorCode::kDataLoss,
                  Describe(depth_, "expected a shard of at least " +
                                       std::to_string(outer + reader.smallest_size()) +
                                       " bytes, which its index takes; found " +
                                       std::to_string(shard.size)));
    }
    body_ = {shard.begin + current.level.leading_bytes(), shard.size - outer};
    const std::uint64_t size = std::min(reader.encoded_size(), body_.size);
    index_range_ = {current.level.index_at_start ? body_.begin : body_.end() - size, size};
    return {};
  }

  // The outermost index alone, without the outer checksums that the first request includes.
  [[nodiscard]] ByteSpan WithoutOuterBytes(ByteSpan bytes, std::uint64_t object_size) const {
    const bool suffix = !levels_.front()->level.index_at_start;
    const std::uint64_t asked_from = suffix ? object_size - bytes.size() : index_range_.begin;
    if (asked_from > index_range_.begin) return {};
    bytes = bytes.subspan(std::min<std::uint64_t>(bytes.size(), index_range_.begin - asked_from));
    return bytes.first(std::min<std::uint64_t>(bytes.size(), index_range_.size));
  }

  // The range of a row in the object; kDamagedRange where it leaves the shard or covers the index.
  [[nodiscard]] ByteRange Locate(const ZarrIndexRow& row) const {
    const auto within = MakeByteRange(row.offset, row.size, body_.size);
    if (!within) return kDamagedRange;
    const ByteRange range{body_.begin + within->begin, within->size};
    if (!levels_[depth_]->level.guess_checksum && range.size > 0 &&
        range.begin < index_range_.end() && index_range_.begin < range.end()) {
      return kDamagedRange;
    }
    return range;
  }

  Result<IndexStep> MakePage(ByteSpan index) const {
    const ZarrFormatLevel& current = *levels_[depth_];
    const std::uint64_t slots = current.level.chunk_count;
    std::size_t present = 0;
    for (std::uint64_t slot = 0; slot < slots; ++slot) {
      if (!current.index.Row(index, slot).empty()) ++present;
    }
    std::vector<IndexEntry> entries;
    entries.reserve(present);
    for (std::uint64_t slot = 0; slot < slots; ++slot) {
      const ZarrIndexRow row = current.index.Row(index, slot);
      if (!row.empty()) entries.push_back({slot, Locate(row)});
    }
    return IndexPage(std::move(entries));
  }

  const ZarrFormatLevelsPtr held_;
  const ZarrFormatLevels& levels_ = *held_;
  const std::vector<std::uint64_t> positions_;
  const std::uint64_t max_index_bytes_;
  std::size_t depth_ = 0;
  ByteRange body_;         // of the current shard, without its outer checksums
  ByteRange index_range_;  // of its index, in the object
};

// The largest index that is read when a shard is opened: 65536 rows and checksums. Every walk needs
// the whole index, so that this saves it a request.
constexpr std::uint64_t kMostIndexAtOpening = (std::uint64_t{1} << 20) + 1024;

class ZarrShardFormat final : public ShardFormat {
 public:
  ZarrShardFormat(ZarrFormatLevelsPtr levels, std::vector<BytesCodecPtr> outer_codecs,
                  std::uint64_t page_count, std::optional<ChunkGrid> shards)
      : levels_(std::move(levels)),
        outer_codecs_(std::move(outer_codecs)),
        page_count_(page_count),
        shards_(std::move(shards)) {}

  [[nodiscard]] std::unique_ptr<IndexWalk> Walk(std::uint64_t shard, std::uint64_t page,
                                                std::uint64_t max_index_bytes) const override {
    return std::make_unique<ZarrIndexWalk>(LevelsOf(shard), page, max_index_bytes);
  }

  // The whole index or nothing: a part cannot be checked against its checksum.
  [[nodiscard]] RangeRequest opening_range() const override {
    if (has_outer_codecs()) return RangeRequest::At(0, kMaxOpeningBytes);
    const RangeRequest index = IndexRequest(*levels_->front());
    return index.size <= kMostIndexAtOpening ? index : RangeRequest::At(0, 0);
  }
  [[nodiscard]] std::uint64_t page_count() const override { return page_count_; }
  [[nodiscard]] bool stored_is_plain() const override { return true; }
  [[nodiscard]] Result<Bytes> DecodeEntry(Bytes stored, std::uint64_t max_bytes) const override {
    if (stored.size() > max_bytes) {
      return Fail(ErrorCode::kResourceExhausted, "the inner chunk takes more than ", max_bytes,
                  " bytes");
    }
    return stored;
  }

  [[nodiscard]] bool has_outer_codecs() const override { return !outer_codecs_.empty(); }
  [[nodiscard]] Result<Bytes> DecodeShard(Bytes stored, std::uint64_t max_bytes) const override {
    for (auto codec = outer_codecs_.rbegin(); codec != outer_codecs_.rend(); ++codec) {
      auto plain = (*codec)->Decode(stored.span(), max_bytes);
      if (!plain) return Forward(std::move(plain).error(), "a codec after sharding_indexed");
      stored = Bytes(*std::move(plain));
    }
    return stored;
  }

  [[nodiscard]] Status CanWrite() const override {
    for (const auto& codec : outer_codecs_) {
      auto can = codec->CanEncode();
      if (!can) return Forward(std::move(can).error(), "after sharding_indexed");
    }
    return {};
  }
  [[nodiscard]] std::uint64_t fixed_index_bytes() const override {
    std::uint64_t bytes = 0;
    for (const auto& level : *levels_) bytes += level->index.encoded_size();
    return bytes;
  }
  [[nodiscard]] std::unique_ptr<ShardAssembly> Assemble(
      std::uint64_t shard, std::vector<AssembledChunk> chunks) const override {
    return AssembleZarrShard(LevelsOf(shard), chunks);
  }
  [[nodiscard]] std::unique_ptr<ShardAssembly> Append(std::uint64_t shard,
                                                      std::vector<AssembledChunk> chunks,
                                                      std::vector<std::uint64_t> /*changed_pages*/,
                                                      std::uint64_t base_size) const override {
    if (has_outer_codecs()) return nullptr;
    return AppendToZarrShard(LevelsOf(shard), chunks, base_size);
  }
  [[nodiscard]] Result<Bytes> EncodeEntry(Bytes plain) const override { return plain; }
  [[nodiscard]] Result<Bytes> EncodeShard(Bytes body, std::uint64_t max_bytes) const override {
    for (const auto& codec : outer_codecs_) {
      auto encoded = codec->Encode(body.span());
      if (!encoded) return Forward(std::move(encoded).error(), "a codec after sharding_indexed");
      body = Bytes(*std::move(encoded));
      if (body.size() > max_bytes) break;
    }
    if (body.size() <= max_bytes) return body;
    return Fail(ErrorCode::kResourceExhausted, "the shard takes more than ", max_bytes, " bytes");
  }

 private:
  [[nodiscard]] ZarrFormatLevelsPtr LevelsOf(std::uint64_t shard) const {
    if (!shards_) return levels_;
    GridCell cell(shards_->rank());
    CellOfLinearIndex(shards_->grid_shape(), shard, cell);
    ShardLevel outermost = levels_->front()->level;
    outermost.grid_shape = GridShapeAt(outermost, *shards_, cell);
    outermost.chunk_count = *CheckedProduct(outermost.grid_shape);
    ZarrFormatLevels levels = *levels_;
    levels.front() = std::make_shared<ZarrFormatLevel>(std::move(outermost));
    return std::make_shared<const ZarrFormatLevels>(std::move(levels));
  }

  const ZarrFormatLevelsPtr levels_;
  const std::vector<BytesCodecPtr> outer_codecs_;
  const std::uint64_t page_count_;
  const std::optional<ChunkGrid> shards_;  // where they differ in shape
};

class ZarrShardKeys final : public ShardKeys {
 public:
  ZarrShardKeys(const ChunkGrid& grid, const ChunkKeyEncoding& encoding)
      : grid_(grid), encoding_(encoding) {}

  [[nodiscard]] std::string Key(std::uint64_t shard) const override {
    GridCell cell(grid_.rank());
    CellOfLinearIndex(grid_.grid_shape(), shard, cell);
    return ZarrChunkKey(encoding_, cell);
  }
  [[nodiscard]] std::optional<std::uint64_t> Parse(std::string_view key) const override {
    GridCell cell;
    const NameMatch match = ParseZarrChunkKey(encoding_, grid_.grid_shape(), key, cell);
    if (match != NameMatch::kChunk) return std::nullopt;
    return LinearIndex(grid_.grid_shape(), cell);
  }

 private:
  const ChunkGrid grid_;
  const ChunkKeyEncoding encoding_;
};

}  // namespace

std::vector<std::uint64_t> GridShapeAt(const ShardLevel& outermost, const ChunkGrid& shards,
                                       std::span<const std::uint64_t> cell) {
  std::vector<std::uint64_t> shape;
  for (const std::size_t axis : outermost.axes) {
    shape.push_back(shards.axis(axis).CellExtent(cell[axis]) / outermost.chunk_shape[axis]);
  }
  return shape;
}

Result<std::shared_ptr<const ShardFormat>> MakeZarrShardFormat(
    std::vector<ShardLevel> levels, std::vector<BytesCodecPtr> outer_codecs,
    const ChunkGrid& shards) {
  std::uint64_t pages = 1;
  for (std::size_t depth = 0; depth + 1 < levels.size(); ++depth) {
    const auto product = CheckedMultiply(pages, levels[depth].chunk_count);
    if (!product) {
      return Fail(ErrorCode::kNotSupported, "a shard holds 2^64 nested shards or more");
    }
    pages = *product;
  }
  ZarrFormatLevels format_levels;
  for (ShardLevel& level : levels) {
    format_levels.push_back(std::make_shared<ZarrFormatLevel>(std::move(level)));
  }
  return std::make_shared<ZarrShardFormat>(
      std::make_shared<const ZarrFormatLevels>(std::move(format_levels)), std::move(outer_codecs),
      pages, shards.is_regular() ? std::nullopt : std::optional(shards));
}

std::shared_ptr<const ShardKeys> MakeZarrShardKeys(const ChunkGrid& shard_grid,
                                                   const ChunkKeyEncoding& encoding) {
  return std::make_shared<ZarrShardKeys>(shard_grid, encoding);
}

}  // namespace unshard
