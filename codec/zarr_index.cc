#include "codec/zarr_index.h"

#include <string>

#include "codec/crc32c.h"

namespace unshard {
namespace {

constexpr std::uint64_t kRowSize = 16;
constexpr std::uint64_t kChecksumSize = 4;

// Strides of the array [grid…, 2] in the axes of the index, after it is transposed by `order`.
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

ZarrIndexReader::ZarrIndexReader(const ZarrShardLevel& level)
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

Result<ByteVector> ZarrIndexReader::Decode(ByteSpan encoded, std::uint64_t shard_size) const {
  if (level_.index.guess_checksum) return DecodeGuessed(encoded, shard_size);
  if (encoded.size() != encoded_size_) {
    return Fail(ErrorCode::kDataLoss, "shard index: expected " + std::to_string(encoded_size_) +
                                          " bytes, found " + std::to_string(encoded.size()));
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

Result<ByteVector> ZarrIndexReader::DecodeGuessed(ByteSpan encoded,
                                                  std::uint64_t shard_size) const {
  if (encoded.size() == encoded_size_) {
    const ByteSpan index = encoded.first(plain_size_);
    if (Crc32c(index) == LoadU32Le(encoded.data() + plain_size_)) {
      return ByteVector(index.begin(), index.end());
    }
  }
  if (encoded.size() < plain_size_) {
    return Fail(ErrorCode::kDataLoss, "shard index: expected " + std::to_string(plain_size_) +
                                          " bytes, found " + std::to_string(encoded.size()));
  }
  const ByteSpan index =
      level_.index_at_start ? encoded.first(plain_size_) : encoded.last(plain_size_);
  if (!IsPlausible(index, shard_size)) {
    return Fail(ErrorCode::kDataLoss,
                "shard index: expected a matching crc32c, or entries within the shard");
  }
  return ByteVector(index.begin(), index.end());
}

bool ZarrIndexReader::IsPlausible(ByteSpan decoded, std::uint64_t shard_size) const {
  for (std::uint64_t slot = 0; slot < level_.chunk_count; ++slot) {
    const ZarrIndexRow row = Row(decoded, slot);
    if (!row.empty() && !MakeByteRange(row.offset, row.size, shard_size)) return false;
  }
  return true;
}

ZarrIndexRow ZarrIndexReader::Row(ByteSpan decoded, std::uint64_t slot) const {
  std::uint64_t offset_at = slot * 2;
  std::uint64_t size_at = offset_at + 1;
  if (!strides_.empty()) {
    offset_at = 0;
    for (std::size_t d = level_.grid_shape.size(); d-- > 0;) {
      offset_at += slot % level_.grid_shape[d] * strides_[d];
      slot /= level_.grid_shape[d];
    }
    size_at = offset_at + strides_.back();
  }
  const auto load = level_.index.big_endian ? LoadU64Be : LoadU64Le;
  return {load(decoded.data() + offset_at * 8), load(decoded.data() + size_at * 8)};
}

}  // namespace unshard
