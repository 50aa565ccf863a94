// The `chunk_layout` of a TensorStore Schema: constraints on the grid, the order and the shapes of
// chunks. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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
  Constraints<std::int64_t> shape = {};
  Constraints<double> aspect_ratio = {};
  Constraint<std::int64_t> elements = {};

  // Fails where a hard constraint of `other` contradicts one of these, which are at `path`.
  Status Merge(const std::string& path, const ChunkShapeConstraints& other);
};

struct ChunkLayout {
  std::optional<std::size_t> rank = {};
  // The permutation of the dimensions in memory, the slowest first.
  Constraint<std::vector<std::size_t>> inner_order = {};
  Constraints<std::int64_t> grid_origin = {};
  ChunkShapeConstraints write_chunk = {};
  ChunkShapeConstraints read_chunk = {};
  ChunkShapeConstraints codec_chunk = {};

  // Fails, naming the member, where a hard constraint of `other` contradicts one of these.
  Status Merge(const ChunkLayout& other);
};

// Hard constraints of the dimensions with an extent that is not 0.
Constraints<std::int64_t> HardShape(const std::vector<std::int64_t>& shape);

// Parses the JSON form. `chunk` constrains write and read chunks, and its aspect ratio also codec
// chunks; it is merged before these three, as by TensorStore, so that its soft constraints win.
// Fails, naming the JSON path.
Result<ChunkLayout> ParseChunkLayout(const JsonCursor& json);

// The JSON form that TensorStore prints within a schema: without `chunk` and `rank`; an empty
// object where nothing is constrained.
JsonValue ChunkLayoutJson(const ChunkLayout& layout);

}  // namespace unshard
