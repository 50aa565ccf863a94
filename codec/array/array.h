// The description of one array with its chunk codec, the same for all four formats.
//
// codec/precomputed/info.h, codec/zarr3/document.h, codec/zarr2/array.h and codec/n5/dataset.h
// parse it from the documents of each format, and write it into them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/array/units.h"
#include "codec/chain/codec_chain.h"
#include "codec/core/bytes.h"
#include "codec/grid/chunk_grid.h"
#include "codec/grid/chunk_key.h"
#include "codec/json/json.h"
#include "codec/types/data_type.h"
#include "codec/types/dialect.h"

namespace unshard {

// "precomputed", "zarr3", "zarr2", "n5".
std::string_view DialectName(Dialect dialect);
inline bool IsZarr(Dialect dialect) {
  return dialect == Dialect::kZarr2 || dialect == Dialect::kZarr3;
}

// All lists have one entry an axis, the slowest first, as Zarr lists them (C order). Precomputed
// scales have four axes: channel, z, y, x. The axes of N5 datasets are those of its documents
// reversed. A transpose in a Zarr codec chain, or order F, is a part of the codec and changes
// nothing here.
struct Array {
  Dialect dialect = Dialect::kZarr3;
  // Fails where chunks cannot become voxels: names the first member of the document that is damaged
  // or not supported, of those that are not needed to present chunks as they are stored. What
  // depends on such a member is empty. A caller that needs voxels returns this failure.
  Status voxels;
  // Where `voxels` fails with kNotSupported: fails where the chunks cannot be passed on as they are
  // stored either, because their grid, their names or a member of the document is not known here.
  Status passable;
  std::string type_name;  // as the document has it, known or not; "": parsed from no document
  DataType data_type;
  // Of a Zarr array whose items are no numbers: `data_type` of Zarr v3, in the form of current
  // readers. Null: they are, or Zarr v3 has no such type. Times have voxels: int64.
  JsonValue item_type;
  std::vector<std::uint64_t> shape;
  std::vector<std::int64_t> origin;        // voxel_offset; zeros in other formats
  std::vector<std::uint64_t> chunk_shape;  // of inner chunks, where the array is sharded
  // Zarr v3 without sharding, where chunks differ in shape; chunk_shape has the largest extents.
  std::optional<ChunkGrid> rectilinear;
  // Zarr v3 with sharding. Precomputed shards need not be boxes: `sharding` describes them.
  std::optional<std::vector<std::uint64_t>> shard_shape;
  std::vector<std::optional<std::string>> axis_names;  // empty: the document has none
  DimensionUnits units;                                // empty: the document has none
  std::optional<ByteVector> fill_value;                // one item; nothing: not defined
  JsonValue fill_json;  // `fill_value` as the document of a Zarr array has it; null: absent
  ChunkCodecPtr codec;  // of inner chunks; null: `voxels` fails
  ChunkKeyEncoding key_encoding;  // Zarr only

  // Members of the documents of this dialect alone. Null, or without members: absent.
  //
  // Zarr v3: `codecs`, of inner chunks; Zarr v2: {compressor, filters, order, dtype}; N5:
  // `compression`; precomputed: {encoding, compressed_segmentation_block_size, jpeg_quality, …}.
  JsonValue codec_json;
  // Zarr v3: the `codecs` of a sharded array, with sharding_indexed; precomputed: `sharding`; N5:
  // the `codecs` of its library 4.x, which are not supported.
  JsonValue sharding;
  // The attributes of the user: without those that are parsed into other members of this struct.
  JsonValue attributes = JsonValue::Object();

  [[nodiscard]] std::size_t rank() const { return shape.size(); }
};

// The array, or why its chunks cannot become voxels.
Result<Array> ForVoxels(Result<Array> array);
// The array, or why its chunks can neither become voxels nor be passed on.
Result<Array> ForPassing(Result<Array> array);

// The name of the type of its items in Zarr v3, "uint16", "numpy.datetime64"; where it has none, as
// the document has it.
std::string ItemTypeName(const Array& array);

// The grid of inner chunks, with the array's origin. Fails as ChunkGrid::Make does.
Result<ChunkGrid> GridOf(const Array& array);
// Makes `grid` that of the chunks of an array that is not sharded, from 0. Requires: Zarr v3.
void SetGrid(Array& array, const ChunkGrid& grid);

// Whether documents and chunk names of the format list axes fastest first, the reverse of the lists
// of Array.
bool ListsFastestAxisFirst(Dialect dialect);
// A list with the axes the other way round.
template <class T>
std::vector<T> ReversedAxes(std::vector<T> list) {
  std::reverse(list.begin(), list.end());
  return list;
}

// Whether chunks at the upper edges are clipped to the array (precomputed, and N5 blocks as they
// are written here), or have the whole chunk shape (Zarr).
bool ClipsChunks(Dialect dialect);

// The shape of the chunk at `cell`, as its codec encodes it. Requires: a cell of the grid.
std::vector<std::uint64_t> ChunkShapeAt(const Array& array, const ChunkGrid& grid,
                                        std::span<const std::uint64_t> cell);

// Whether every axis has a name, as xarray requires. True for scalars, which have no axes.
bool HasAllNames(const Array& array);

// The fill value, one item; zeros where the array has none.
ByteVector FillValueOf(const Array& array);

// The properties of an array for `unshard info`, in the axis order of its document; empty where the
// metadata lack them, or chunks differ in shape.
struct ArrayDescription {
  std::string data_type;
  std::string encoding;  // "raw", "bytes, zstd", the name of the compressor
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> chunk_shape;
};

ArrayDescription Describe(const Array& array);

}  // namespace unshard
