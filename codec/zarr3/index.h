// Decoding and encoding of one index of a sharding_indexed shard.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "codec/core/bytes.h"
#include "codec/zarr3/shard.h"

namespace unshard {

// An entry of an index, before it is checked against the shard's size.
struct ZarrIndexRow {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  // One field of 2^64 - 1 marks an empty inner chunk: old writers added the length of the index to
  // the offset of empty entries, which overflowed.
  [[nodiscard]] bool empty() const {
    return offset == ~std::uint64_t{0} || size == ~std::uint64_t{0};
  }
};

// Decodes and encodes the index of one level. Immutable; thread-safe.
class ZarrIndexCodec {
 public:
  explicit ZarrIndexCodec(const ShardLevel& level);

  // The size of an index as Encode returns it, and the largest size that Decode takes: the only
  // size, unless guess_checksum is set.
  [[nodiscard]] std::uint64_t encoded_size() const { return encoded_size_; }
  // The smallest size that Decode takes: without the checksum whose presence is guessed.
  [[nodiscard]] std::uint64_t smallest_size() const { return smallest_size_; }

  // Decodes to little-endian numbers in C order. `encoded` has encoded_size() bytes, or fewer, down
  // to smallest_size(), where the shard has no more. `shard_size` serves to recognise an index
  // without checksum. Fails with kDataLoss on a checksum that does not match.
  [[nodiscard]] Result<ByteVector> Decode(ByteSpan encoded, std::uint64_t shard_size) const;
  // The row of a slot in a decoded index. Requires: slot < chunk_count.
  // Inline, because it is called for each of the millions of slots of an index.
  [[nodiscard]] static ZarrIndexRow Row(ByteSpan decoded, std::uint64_t slot) {
    const std::uint8_t* const at = decoded.data() + slot * kRowSize;
    return {LoadU64Le(at), LoadU64Le(at + kFieldSize)};
  }

  // The index with these entries, whose ranges count from the start of the shard; the other slots
  // are empty. Requires: slots below chunk_count.
  [[nodiscard]] Result<ByteVector> Encode(std::span<const IndexEntry> entries) const;

 private:
  [[nodiscard]] Result<ByteVector> DecodeGuessed(ByteSpan encoded, std::uint64_t shard_size) const;
  [[nodiscard]] bool IsPlausible(ByteSpan decoded, std::uint64_t shard_size) const;

  static constexpr std::uint64_t kFieldSize = 8;
  static constexpr std::uint64_t kRowSize = 2 * kFieldSize;

  const ShardLevel& level_;
  Shape shape_;  // [grid_shape…, 2]
  std::uint64_t plain_size_;
  std::uint64_t encoded_size_;
  std::uint64_t smallest_size_;
};

// One level of a shard format.
struct ZarrFormatLevel {
  explicit ZarrFormatLevel(ShardLevel from) : level(std::move(from)), index(level) {}
  ZarrFormatLevel(const ZarrFormatLevel&) = delete;
  ZarrFormatLevel& operator=(const ZarrFormatLevel&) = delete;

  const ShardLevel level;
  const ZarrIndexCodec index;  // refers to `level`
};
using ZarrFormatLevels = std::vector<std::shared_ptr<const ZarrFormatLevel>>;  // outermost first
using ZarrFormatLevelsPtr = std::shared_ptr<const ZarrFormatLevels>;

// The position of page `page` in the shards of each level but the innermost.
std::vector<std::uint64_t> PositionsOfPage(const ZarrFormatLevels& levels, std::uint64_t page);

}  // namespace unshard
