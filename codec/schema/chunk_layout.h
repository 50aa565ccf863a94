// The `chunk_layout` of a TensorStore Schema: constraints on the grid, the order and the shapes of
// chunks. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "codec/core/error.h"
#include "codec/json/cursor.h"
#include "codec/json/json.h"
#include "codec/schema/constraint.h"

namespace unshard {

// The constraints on one kind of chunks. Write chunks are rewritten as a whole (shards), read
// chunks are read as a whole (inner chunks), and codec chunks are the blocks within these that a
// codec encodes.
struct ChunkShapeConstraints {
  // -1: the whole extent of the domain, which is always a soft constraint.
  Constraints<std::int64_t> shape;
  Constraints<double> aspect_ratio;
  Constraint<std::int64_t> elements;

  // Fails where a hard constraint of `other` contradicts one of these. Requires: the same rank.
  Status Merge(const ChunkShapeConstraints& other);
  [[nodiscard]] bool empty() const;
};

struct ChunkLayout {
  std::optional<std::size_t> rank;
  // The permutation of the dimensions in memory, the slowest first.
  Constraint<std::vector<std::size_t>> inner_order;
  Constraints<std::int64_t> grid_origin;
  ChunkShapeConstraints write_chunk;
  ChunkShapeConstraints read_chunk;
  ChunkShapeConstraints codec_chunk;

  // Each of these merges one constraint, and fails if that contradicts a constraint set before.
  Status SetRank(std::size_t value);
  Status SetInnerOrder(std::vector<std::size_t> order, Strength strength);
  Status SetGridOrigin(const Constraints<std::int64_t>& origin);
  // `usage` is a member of this.
  Status SetChunk(ChunkShapeConstraints& usage, const ChunkShapeConstraints& value);
  // All of `other`.
  Status Merge(const ChunkLayout& other);
};

// Hard constraints of every dimension; of a shape, 0 means that the dimension is not constrained.
Constraints<std::int64_t> HardShape(const std::vector<std::int64_t>& shape);
Constraints<std::int64_t> HardOrigin(const std::vector<std::int64_t>& origin);

// Parses the JSON form. `chunk` constrains write and read chunks, and its aspect ratio also codec
// chunks; it is read before these three, as by TensorStore, so that its soft constraints win.
// Fails, naming the JSON path.
Result<ChunkLayout> ParseChunkLayout(const JsonCursor& json);

// The JSON form that TensorStore prints within a schema: without `chunk` and `rank`; an empty
// object where nothing is constrained.
JsonValue ChunkLayoutJson(const ChunkLayout& layout);

}  // namespace unshard
