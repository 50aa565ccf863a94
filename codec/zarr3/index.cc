#include "codec/zarr3/index.h"

#include <utility>

namespace unshard {

ZarrIndexCodec::ZarrIndexCodec(const ShardLevel& level)
    : level_(level), shape_(level.grid_shape), plain_size_(level.chunk_count * kRowSize) {
  shape_.push_back(kRowSize / kFieldSize);
  encoded_size_ = level.index_chain->EncodedSize(shape_).value_or(plain_size_);
  smallest_size_ = level.guess_checksum ? plain_size_ : encoded_size_;
}

Result<ByteVector> ZarrIndexCodec::Decode(ByteSpan encoded, std::uint64_t shard_size) const {
  if (!level_.guess_checksum && encoded.size() != encoded_size_) {
    return Fail(ErrorCode::kDataLoss, "shard index: expected ", encoded_size_, " bytes, found ",
                encoded.size());
  }
  auto decoded = level_.index_chain->Decode(encoded, shape_);
  if (decoded) return std::move(*decoded).TakeBytes();
  if (level_.guess_checksum) return DecodeGuessed(encoded, shard_size);
  return Forward(std::move(decoded).error(), "shard index");
}

Result<ByteVector> ZarrIndexCodec::DecodeGuessed(ByteSpan encoded, std::uint64_t shard_size) const {
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

Result<ByteVector> ZarrIndexCodec::Encode(std::span<const IndexEntry> entries) const {
  ByteVector rows(plain_size_, 0xFF);  // 2^64 - 1 twice: an empty slot
  for (const IndexEntry& entry : entries) {
    std::uint8_t* const at = rows.data() + entry.slot * kRowSize;
    StoreU64Le(at, entry.range.begin);
    StoreU64Le(at + kFieldSize, entry.range.size);
  }
  UNSHARD_ASSIGN_OR_RETURN(Voxels index, Voxels::Make(kUint64, shape_, std::move(rows)));
  return level_.index_chain->Encode(std::move(index));
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
