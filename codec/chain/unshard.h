// What sharding_indexed of Zarr v3 does to a chain of codecs, at all levels of nesting. Pure;
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "codec/chain/codec_chain.h"
#include "codec/chain/codec_spec.h"
#include "codec/chain/voxels.h"
#include "codec/core/error.h"
#include "codec/grid/chunk_grid.h"
#include "codec/json/json.h"

namespace unshard {

// One level of sharding: one sharding_indexed. Its dimensions may be a transpose of the array's.
struct ShardLevel {
  std::vector<std::size_t> axes;           // the array axis of each dimension of this level
  std::vector<std::uint64_t> chunk_shape;  // of its inner chunks, in array axis order
  std::vector<std::uint64_t> grid_shape;   // chunks per shard, in this level's dimensions
  std::uint64_t chunk_count = 1;           // product of grid_shape, at most 2^30
  bool index_at_start = false;
  // Encodes the index, an array of uint64 of the shape [grid_shape…, 2], to a fixed size.
  ChunkCodecPtr index_chain;
  // Set where index_codecs are absent: the crc32c of NewIndexChain follows the index, or, where
  // that does not match, nothing does.
  bool guess_checksum = false;
  // The codecs after sharding_indexed, in order of encoding; each has a fixed overhead.
  std::vector<BytesCodecPtr> outer;

  // The number of bytes that `outer` adds before and after the shard.
  [[nodiscard]] std::uint64_t leading_bytes() const;
  [[nodiscard]] std::uint64_t trailing_bytes() const;
};

// The layout that a chain with sharding_indexed describes.
struct Unsharded {
  std::vector<ShardLevel> levels;  // outermost first, at least one
  // The codecs after the outermost sharding_indexed, where the shard has to be decoded as a whole.
  std::vector<BytesCodecPtr> outer_codecs;
  ChainSpec codecs;   // of the unsharded array
  Shape chunk_shape;  // of the innermost chunks, in array axis order
};

// Takes sharding_indexed, which `codecs` have, out of the chain of an array with this grid of
// shards. Where these differ in shape, so do the indexes of the outermost level, of which
// grid_shape and chunk_count are upper bounds. `fill`: a voxel with the fill value of the array;
// nothing where its bytes are not known. Fails with kDataLoss on damaged metadata and with
// kNotSupported, naming the codec, on legal metadata without support.
//
// Inner chunks that are absent have the fill value as the codecs before sharding_indexed store it
// (zarrs) or as it is (zarr-python): codecs that store another number for it, or do not give it
// back bit by bit, are refused. Of scale_offset and cast_value their specifications say the former:
// the fill value has to be given back.
Result<Unsharded> Unshard(const ChainSpec& codecs, const ChunkGrid& shards,
                          std::optional<Voxels> fill);

// The index_codecs of new shards: little-endian numbers and a crc32c. NewIndexChain binds them for
// a level with so many dimensions; never null.
ChainSpec NewIndexCodecs();
ChunkCodecPtr NewIndexChain(std::size_t rank);
// A sharding_indexed codec with these members, and an index of that form. Where the index is
// (`index_location`) is left out: at the end.
JsonValue ShardingCodecJson(JsonValue chunk_shape, JsonValue codecs);

}  // namespace unshard
