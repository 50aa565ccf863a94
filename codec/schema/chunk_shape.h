// Completion of chunk shapes: from the constraints of a schema to the extents of chunks, exactly as
// TensorStore 0.1.86 chooses them. Rules: codec/FORMATS.md, "Schemas". Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codec/core/error.h"
#include "codec/schema/chunk_layout.h"

namespace unshard {

// What chunks are chosen for: the extent of each dimension; nothing where it is not bounded.
using Extents = std::vector<std::optional<std::int64_t>>;

// The extents of one kind of chunks. Dimensions without a shape constraint get an extent for their
// aspect ratio, so that the chunk has about `elements` elements (2^20 where that is not given).
// Fails where -1 is asked for in a dimension without bounds.
Result<std::vector<std::int64_t>> ChooseChunkShape(const ChunkShapeConstraints& constraints,
                                                   const Extents& extents);

struct ChunkShapes {
  std::vector<std::int64_t> read;
  std::vector<std::int64_t> write;  // multiples of the read extents
};

// Both shapes of an array with chunks within shards. Where both are given for a dimension and do
// not fit: two hard ones fail, a hard read extent makes the write extent the nearest multiple of
// it, and otherwise the read extent becomes the nearest divisor of the write extent.
Result<ChunkShapes> ChooseChunkShapes(const ChunkShapeConstraints& read,
                                      const ChunkShapeConstraints& write, const Extents& extents);

}  // namespace unshard
