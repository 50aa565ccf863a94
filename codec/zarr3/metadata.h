// Zarr v3 metadata documents: shard layout of arrays, and their rewrite to unsharded form.
// codec/FORMATS.md, "Zarr v3".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/grid/chunk_grid.h"
#include "codec/grid/chunk_key.h"
#include "codec/json/json.h"
#include "codec/shard/chunk_locator.h"
#include "codec/shard/format.h"
#include "codec/voxel/chunk_check.h"

namespace unshard {

// An array whose codec chain has sharding_indexed. All shapes are in array axis order, what
// transposes before or between levels of sharding do to the slots is inside `locator`.
struct ZarrShardedArray {
  ChunkGrid grid;                 // of inner chunks (innermost level: nested sharding is flattened)
  ChunkGrid shard_grid;           // of stored shards
  ChunkKeyEncoding key_encoding;  // of both grids
  std::shared_ptr<const ShardFormat> format;
  std::shared_ptr<const ChunkLocator> locator;
  std::shared_ptr<const ShardKeys> keys;  // shard number = C-order position in shard_grid
  std::shared_ptr<const ChunkCheck> check = MakeNotEmptyCheck();  // of inner chunks; never null
  std::uint32_t layout_digest = 0;                                // codec/zarr3/layout_digest.h
};

struct ZarrNode {
  enum class Type { kArray, kGroup };
  Type type = Type::kGroup;
  std::optional<ZarrShardedArray> sharded;  // arrays only; nothing: the array passes through
  // The document as the unsharded equivalent has it. Equal to the source text where there is
  // nothing to change; short-hand names that current readers refuse are written out.
  std::string unsharded_text;
  // For people and `unshard info`; empty for groups.
  std::string data_type;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> chunk_shape;  // of the unsharded array
  std::string codecs;                      // "transpose, bytes, zstd"
  // Embedded consolidated metadata that could not be rewritten and stands as it was: "path: why".
  std::vector<std::string> warnings;
};

// Parses a `zarr.json`. Fails with kDataLoss (JSON path and expectation) for what is broken, and
// with kNotSupported, naming the codec or grid, for what is legal but cannot be served: a codec
// that is unknown or changes size in index_codecs, an unknown codec around the shard, a grid that
// is not regular under sharding, inner shapes that do not divide the shard.
Result<ZarrNode> ParseZarrMetadata(std::string_view text);

}  // namespace unshard
