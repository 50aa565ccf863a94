// Zarr v3 metadata documents: the shard layout of arrays, and the unsharded form of documents.
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

// An array whose codec chain has sharding_indexed. All shapes are in array axis order; `locator`
// takes account of transposes before and between levels of sharding.
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
  // The document of the unsharded equivalent, in which short-hand names are spelled out, because
  // current readers refuse them. The source text where nothing changes.
  std::string unsharded_text;
  // For `unshard info`; empty where the node is a group.
  std::string data_type;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> chunk_shape;  // of the unsharded array
  std::string codecs;                      // "transpose, bytes, zstd"
  // Copies in the consolidated metadata of a group that could not be rewritten, and are unchanged:
  // "path: why".
  std::vector<std::string> warnings;
};

// Parses a `zarr.json`. Fails with kDataLoss, naming the JSON path and what was expected, on
// damaged metadata, and with kNotSupported, naming the codec or grid, on legal metadata without
// support: a codec in index_codecs that is unknown or changes size, an unknown outer codec of a
// shard, a sharded array whose grid is not regular, inner chunk shapes that do not divide the
// shard's.
Result<ZarrNode> ParseZarrMetadata(std::string_view text);

}  // namespace unshard
