#include "codec/zarr3/index.h"

#include <string>

#include "codec/core/crc32c.h"

namespace unshard {
namespace {

constexpr std::uint64_t kChecksumSize = 4;

// The strides of the array [grid…, 2] after its transpose by `order`; empty without one.
std::vector<std::uint64_t> StridesOf(const ZarrShardLevel& level) {
  if (level.index.order.empty()) return {};
  std::vector<std::uint64_t> shape = level.grid_shape;
  shape.push_back(2);
  std::vector<std::uint64_t> strides(shape.size());
  std::uint64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const std::size_t axis = level.index.order[i];
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

}  // namespace

ZarrIndexCodec::ZarrIndexCodec(const ZarrShardLevel& level)
    : level_(level),
      plain_size_(level.chunk_count * kRowSize),
      encoded_size_(plain_size_),
      smallest_size_(plain_size_),
      strides_(StridesOf(level)) {
  for (const auto& codec : level.index.bytes_codecs) {
    encoded_size_ += codec->fixed_overhead().value_or(0);
  }
  smallest_size_ = encoded_size_;
  if (level.index.guess_checksum) encoded_size_ += kChecksumSize;
}

Result<ByteVector> ZarrIndexCodec::Decode(ByteSpan encoded, std::uint64_t shard_size) const {
  if (level_.index.guess_checksum) return DecodeGuessed(encoded, shard_size);
  if (encoded.size() != encoded_size_) {
    return Fail(ErrorCode::kDataLoss, "shard index: expected ", encoded_size_, " bytes, found ",
                encoded.size());
  }
  ByteVector decoded(encoded.begin(), encoded.end());
  const auto& codecs = level_.index.bytes_codecs;
  for (auto codec = codecs.rbegin(); codec != codecs.rend(); ++codec) {
    auto undone = (*codec)->Decode(decoded, decoded.size());
    if (!undone) return Forward(std::move(undone).error(), "shard index");
    decoded = *std::move(undone);
  }
  return decoded;
}

Result<ByteVector> ZarrIndexCodec::DecodeGuessed(ByteSpan encoded, std::uint64_t shard_size) const {
  if (encoded.size() == encoded_size_) {
    const ByteSpan index = encoded.first(plain_size_);
    if (Crc32c(index) == LoadU32Le(encoded.data() + plain_size_)) {
      return ByteVector(index.begin(), index.end());
    }
  }
  if (encoded.size() < plain_size_) {
    return Fail(ErrorCode::kDataLoss, "shard index: expected ", plain_size_, " bytes, found ",
                encoded.size());
  }
  const ByteSpan index =
      level_.index_at_start ? encoded.first(plain_size_) : encoded.last(plain_size_);
  if (!IsPlausible(index, shard_size)) {
    return Fail(ErrorCode::kDataLoss,
                "shard index: the crc32c does not match, and entries lie outside the shard");
  }
  return ByteVector(index.begin(), index.end());
}

bool ZarrIndexCodec::IsPlausible(ByteSpan decoded, std::uint64_t shard_size) const {
  for (std::uint64_t slot = 0; slot < level_.chunk_count; ++slot) {
    const ZarrIndexRow row = Row(decoded, slot);
    if (!row.empty() && !MakeByteRange(row.offset, row.size, shard_size)) return false;
  }
  return true;
}

ZarrIndexCodec::RowPosition ZarrIndexCodec::TransposedPositionOf(std::uint64_t slot) const {
  std::uint64_t at = 0;
  for (std::size_t d = level_.grid_shape.size(); d-- > 0;) {
    at += slot % level_.grid_shape[d] * strides_[d];
    slot /= level_.grid_shape[d];
  }
  return {at * kFieldSize, (at + strides_.back()) * kFieldSize};
}

Result<ByteVector> ZarrIndexCodec::Encode(std::span<const IndexEntry> entries) const {
  ByteVector encoded(plain_size_, 0xFF);  // 2^64 - 1 twice: an empty slot, in either byte order
  const auto store = [&](std::uint64_t at, std::uint64_t value) {
    StoreU64Le(encoded.data() + at, level_.index.big_endian ? __builtin_bswap64(value) : value);
  };
  for (const IndexEntry& entry : entries) {
    const RowPosition position = PositionOf(entry.slot);
    store(position.offset_at, entry.range.begin);
    store(position.size_at, entry.range.size);
  }
  for (const auto& codec : level_.index.bytes_codecs) {
    UNSHARD_ASSIGN_OR_RETURN(encoded, codec->Encode(encoded));
  }
  if (level_.index.guess_checksum) AppendU32Le(encoded, Crc32c(encoded));
  return encoded;
}

std::vector<std::uint64_t> PositionsOfPage(const ZarrFormatLevels& levels, std::uint64_t page) {
  std::vector<std::uint64_t> positions(levels.size() - 1);
  for (std::size_t depth = positions.size(); depth-- > 0;) {
    const std::uint64_t count = levels[depth]->level.chunk_count;
    positions[depth] = page % count;
    page /= count;
  }
  return positions;
}

}  // namespace unshard
