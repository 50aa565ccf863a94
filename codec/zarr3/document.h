// Zarr v3 metadata documents: the arrays that they describe, with their shards, and their unsharded
// form; and the documents of arrays. codec/FORMATS.md, "Zarr v3". Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/array/array.h"
#include "codec/grid/chunk_check.h"
#include "codec/grid/chunk_grid.h"
#include "codec/grid/chunk_key.h"
#include "codec/json/json.h"
#include "codec/shard/chunk_locator.h"
#include "codec/shard/format.h"

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
  // Where the node is one; of a group, `voxels` fails. In it chunk_shape, codec_json and codec are
  // those of inner chunks, `sharding` is the whole codec chain, and the attribute `dimension_units`
  // has become `units`. Where the grid is not known, chunk_shape is empty; where
  // shards differ in shape, shard_shape is.
  Array array;
  std::optional<ZarrShardedArray> sharded;  // arrays only; nothing: the array passes through
  // Fails with kNotSupported where chunks cannot be presented as they are stored, and then `voxels`
  // does: names the codec in index_codecs that is unknown or changes size, the unknown outer codec
  // of a shard, the grid of a sharded array that is unknown, inner chunk shapes that do not divide
  // the shard's.
  Status presentable;
  // JSON: two arrays store their chunks in the same way if their layouts mean the same.
  std::string layout;
  // The document of the unsharded equivalent, in which short-hand names are spelled out, because
  // current readers refuse them. The source text where nothing changes. Empty where a tree was
  // parsed.
  std::string unsharded_text;
  // Copies in the consolidated metadata of a group that could not be rewritten, and are unchanged:
  // "path: why".
  std::vector<std::string> warnings;
};

// Parses a `zarr.json`. Fails with kDataLoss, naming the JSON path and what was expected, on
// damaged metadata, and as ZarrNode::presentable does. What only voxels need fails
// Array::voxels: fill value, other data types, grids and codecs, attributes.
Result<ZarrNode> ParseZarrMetadata(std::string_view text);
// The same of a tree, in which copies of other nodes are not looked at.
Result<ZarrNode> ParseZarrMetadata(const JsonValue& document);
// The same also where it is not presentable.
Result<ZarrNode> ParseZarrNode(const JsonValue& document);
// The unsharded equivalent of the document of an array. Groups are left as they are.
Result<JsonValue> UnshardedDocument(JsonValue document);

// The document of `array`, of any dialect: `sharding` is in `codecs` where it is not null, else
// codec_json, to which, where shard_shape is set, sharding_indexed is added with an index of
// little-endian numbers and crc32c, as TensorStore writes it. Without a fill_value, fill_json is
// written. Fails with kInvalidArgument where the array has an origin, which Zarr cannot express.
Result<JsonValue> WriteZarr3Array(const Array& array);

}  // namespace unshard
