// From constraints on the codecs of Zarr v3 to the codecs of an array. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "codec/core/error.h"
#include "codec/schema/codec_constraints.h"

namespace unshard {

struct ChunkParameters {
  std::uint32_t item_size = 1;
  std::vector<std::int64_t> chunk_shape;
  std::vector<std::int64_t> read_chunk_shape;           // of sharding_indexed without chunk_shape
  std::optional<std::vector<std::size_t>> inner_order;  // of the innermost chunks
};

// The complete chain of an array with such chunks, as its document has it: with all options but an
// index_location of "end", a codec from arrays to bytes, and a transpose where `inner_order` needs
// one. Fails with kInvalidArgument where codecs do not fit the chunks, inner chunks do not divide
// shards, or index_codecs have no fixed size.
Result<ChainSpec> ResolveCodecs(const ChainSpec& codecs, const ChunkParameters& chunk);

struct StoredLayout {
  std::vector<std::size_t> inner_order;
  std::vector<std::int64_t> read_chunk_shape;  // of the innermost chunks
};
// The layout by the axes of the array; nothing where the chain is not that of an array with chunks
// of this shape.
std::optional<StoredLayout> LayoutOfCodecs(const ChainSpec& codecs,
                                           const std::vector<std::int64_t>& chunk_shape);

}  // namespace unshard
