// One encoded index of a sharding_indexed shard: its size, and its entries.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codec/zarr_shard.h"

namespace unshard {

// An entry as it stands in an index, before it is held against the shard's size.
struct ZarrIndexRow {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  // Either field alone marks an empty inner chunk: old writers added the length of the index to
  // the offset of empty entries, which wrapped.
  [[nodiscard]] bool empty() const {
    return offset == ~std::uint64_t{0} || size == ~std::uint64_t{0};
  }
};

// Reads the index of one level. Immutable; thread-safe.
class ZarrIndexReader {
 public:
  explicit ZarrIndexReader(const ZarrShardLevel& level);

  // The most bytes that the encoded index takes; exact unless its checksum is guessed.
  [[nodiscard]] std::uint64_t encoded_size() const { return encoded_size_; }
  // The fewest bytes: without the checksum that is guessed.
  [[nodiscard]] std::uint64_t smallest_size() const { return smallest_size_; }

  // Undoes the index codecs. `encoded` has encoded_size() bytes, or down to smallest_size() where
  // the shard has no more; `shard_size` judges whether an index without checksum is one.
  // Fails with kDataLoss on a checksum that does not match.
  [[nodiscard]] Result<ByteVector> Decode(ByteSpan encoded, std::uint64_t shard_size) const;
  // The row of a slot in a decoded index. Requires: slot < chunk_count.
  [[nodiscard]] ZarrIndexRow Row(ByteSpan decoded, std::uint64_t slot) const;

 private:
  [[nodiscard]] Result<ByteVector> DecodeGuessed(ByteSpan encoded, std::uint64_t shard_size) const;
  [[nodiscard]] bool IsPlausible(ByteSpan decoded, std::uint64_t shard_size) const;

  const ZarrShardLevel& level_;
  std::uint64_t plain_size_;
  std::uint64_t encoded_size_;
  std::uint64_t smallest_size_;
  // Distance in the encoded array between neighbours of each dimension, the last one of the pair.
  std::vector<std::uint64_t> strides_;
};

}  // namespace unshard
