// The shard container sharding_indexed of Zarr v3, flattened over nested levels.
//
// A level is one sharding_indexed codec. Its dimensions may be a transpose of the array's; its
// index lists its inner chunks in C order of its own dimensions. All levels above the innermost
// together number the pages of a shard, the innermost level numbers the slots of a page.
// codec/FORMATS.md, "Zarr v3". Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "codec/chain/codec_chain.h"
#include "codec/grid/chunk_grid.h"
#include "codec/grid/chunk_key.h"
#include "codec/shard/chunk_locator.h"
#include "codec/shard/format.h"

namespace unshard {

// The most entries of an index.
inline constexpr std::uint64_t kMaxZarrIndexEntries = std::uint64_t{1} << 30;

// The chain of an index whose level has so many dimensions, as new shards have it: little-endian
// numbers and a crc32c. Never null.
ChunkCodecPtr NewZarrIndexChain(std::size_t rank);

// One level of sharding.
struct ZarrShardLevel {
  std::vector<std::size_t> axes;           // the array axis of each dimension of this level
  std::vector<std::uint64_t> chunk_shape;  // of its inner chunks, in array axis order
  std::vector<std::uint64_t> grid_shape;   // chunks per shard, in this level's dimensions
  std::uint64_t chunk_count = 1;           // product of grid_shape, at most kMaxZarrIndexEntries
  bool index_at_start = false;
  // Encodes the index, an array of uint64 of the shape [grid_shape…, 2], to a fixed size.
  ChunkCodecPtr index_chain;
  // Set where index_codecs are absent: the crc32c of NewZarrIndexChain follows the index, or, where
  // that does not match, nothing does.
  bool guess_checksum = false;
  // The codecs after sharding_indexed, in order of encoding; each has a fixed overhead.
  std::vector<BytesCodecPtr> outer;

  // The number of bytes that `outer` adds before and after the shard.
  [[nodiscard]] std::uint64_t leading_bytes() const;
  [[nodiscard]] std::uint64_t trailing_bytes() const;
};

// The format of shards with these levels, outermost first. `outer_codecs` are the bytes-to-bytes
// codecs after the outermost sharding_indexed, in order of encoding, where one of them has no fixed
// overhead; `outer` of the outermost level is then empty. Fails with kNotSupported where a shard
// has 2^64 pages or more. A walk requests the index of each level; the opening range contains the
// outermost one, or nothing where that is long. An object of length 0 is damaged.
Result<std::shared_ptr<const ShardFormat>> MakeZarrShardFormat(
    std::vector<ZarrShardLevel> levels, std::vector<BytesCodecPtr> outer_codecs);

// Chunk keys of the stored shards.
std::shared_ptr<const ShardKeys> MakeZarrShardKeys(const ChunkGrid& shard_grid,
                                                   const ChunkKeyEncoding& encoding);

}  // namespace unshard
