// The shard container sharding_indexed of Zarr v3, flattened over nested levels.
//
// A level is one sharding_indexed codec. Its dimensions may be transposed against those of the
// array; its index lists its inner chunks in C order of its own dimensions. All levels above the
// innermost together number the pages of a shard, the innermost level the slots of a page.
// Layout and traps: codec/FORMATS.md, "Zarr v3".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "codec/compression/bytes_codec.h"
#include "codec/grid/chunk_grid.h"
#include "codec/grid/chunk_key.h"
#include "codec/shard/chunk_locator.h"
#include "codec/shard/format.h"

namespace unshard {

// No index has more entries than this.
inline constexpr std::uint64_t kMaxZarrIndexEntries = std::uint64_t{1} << 30;

// How an index, a u64 array of shape [chunks per shard…, 2], is encoded.
struct ZarrIndexEncoding {
  bool big_endian = false;
  std::vector<std::size_t> order;  // of all transposes together, rank + 1 axes; empty: none
  // In order of encoding; each has a fixed overhead.
  std::vector<std::shared_ptr<const BytesCodec>> bytes_codecs;
  // index_codecs are absent: a crc32c follows the index where it matches, else nothing does.
  bool guess_checksum = false;
};

// One level of sharding.
struct ZarrShardLevel {
  std::vector<std::size_t> axes;           // the array axis of each dimension of this level
  std::vector<std::uint64_t> chunk_shape;  // of its inner chunks, in array axis order
  std::vector<std::uint64_t> grid_shape;   // chunks per shard, in this level's dimensions
  std::uint64_t chunk_count = 1;           // product of grid_shape, at most kMaxZarrIndexEntries
  bool index_at_start = false;
  ZarrIndexEncoding index;
  // Around this level's shard, in order of encoding; each has a fixed overhead.
  std::vector<std::shared_ptr<const BytesCodec>> around;

  // What `around` adds before and after the shard.
  [[nodiscard]] std::uint64_t leading_bytes() const;
  [[nodiscard]] std::uint64_t trailing_bytes() const;
};

// The format of shards with these levels, outermost first. `wrapping` are the bytes-to-bytes codecs
// around the whole shard, in order of encoding, where one of them has no fixed size; the outermost
// level then has nothing `around`. Fails with kNotSupported where a shard has
// 2^64 pages or more. A walk asks for the index of each level, of which opening a
// shard brings the outermost; an object of length 0 is damage.
Result<std::shared_ptr<const ShardFormat>> MakeZarrShardFormat(
    std::vector<ZarrShardLevel> levels, std::vector<std::shared_ptr<const BytesCodec>> wrapping);

// Chunk keys of the stored shards.
std::shared_ptr<const ShardKeys> MakeZarrShardKeys(const ChunkGrid& shard_grid,
                                                   const ChunkKeyEncoding& encoding);

}  // namespace unshard
