// From constraints on Zarr v3 codecs to the codec chain of an array. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "codec/core/error.h"
#include "codec/schema/zarr3_codecs.h"

namespace unshard {

struct Zarr3ChunkParameters {
  std::uint64_t item_size = 1;
  std::vector<std::int64_t> chunk_shape;
  std::vector<std::int64_t> read_chunk_shape;           // of sharding_indexed without chunk_shape
  std::optional<std::vector<std::size_t>> inner_order;  // of the innermost chunks
};

// The complete chain of an array with such chunks: with all options, a codec from arrays to bytes,
// and a transpose where `inner_order` needs one. Fails with kInvalidArgument where codecs do not
// fit the chunks, inner chunks do not divide shards, or index_codecs have no fixed size.
Result<Zarr3CodecChain> ResolveZarr3Codecs(const Zarr3CodecChain& chain,
                                           const Zarr3ChunkParameters& chunk);

struct Zarr3ChunkLayout {
  std::vector<std::size_t> inner_order;
  std::vector<std::int64_t> read_chunk_shape;  // of the innermost chunks
};
// The layout by the axes of the array. Requires: a resolved chain for chunks of this shape.
Zarr3ChunkLayout LayoutOfZarr3Codecs(const Zarr3CodecChain& chain,
                                     const std::vector<std::int64_t>& chunk_shape);

}  // namespace unshard
