// From the constraints of a schema to the shapes of chunks, exactly as TensorStore 0.1.86 chooses
// them. codec/FORMATS.md, "Schemas". Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codec/core/error.h"
#include "codec/schema/chunk_layout.h"

namespace unshard {

// The extent of each dimension of the array; nothing where it has no bounds.
using Extents = std::vector<std::optional<std::int64_t>>;

// The shape of one kind of chunks. Dimensions without a constraint on the shape get extents in the
// aspect ratio, so that the chunk has about `elements` elements (2^20 without that constraint).
// Fails with kInvalidArgument, naming the dimension, where a chunk is to have the whole extent (-1)
// of a dimension without bounds.
Result<std::vector<std::int64_t>> ChooseChunkShape(const ChunkShapeConstraints& constraints,
                                                   const Extents& extents);

// The failure of shards whose extent is no multiple of that of chunks. Says what would fit.
tl::unexpected<Error> NoMultiple(std::int64_t shard, std::int64_t chunk, std::size_t dimension);

struct ChunkShapes {
  std::vector<std::int64_t> read;
  std::vector<std::int64_t> write;  // multiples of the read extents
};

// Both shapes of an array with inner chunks in shards. Where both extents of a dimension are
// constrained and the write extent is no multiple of the read extent: two hard ones fail, a hard
// read extent makes the write extent its nearest multiple, else the read extent becomes the nearest
// divisor of the write extent.
Result<ChunkShapes> ChooseChunkShapes(const ChunkShapeConstraints& read,
                                      const ChunkShapeConstraints& write, const Extents& extents);

}  // namespace unshard
