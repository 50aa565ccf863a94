// The codec of chunks that are items one after the other, encoded by array-to-array codecs before
// and bytes-to-bytes codecs after that: the chunks of Zarr arrays, raw chunks of precomputed
// volumes, the payload of N5 blocks. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "codec/compression/bytes_codec.h"
#include "codec/voxel/bit_packing.h"
#include "codec/voxel/chunk_codec.h"
#include "codec/voxel/filter.h"

namespace unshard {

// An array-to-array codec.
struct ArrayStep {
  std::vector<std::size_t> order;  // transpose: dimension i becomes axis order[i]
  // Or a filter of items in C order.
  std::optional<Filter> filter = std::nullopt;
  JsonValue filter_configuration = {};  // for ChunkEncoding
};

// A bytes-to-bytes codec.
struct BytesStep {
  BytesCodecPtr codec;
  JsonValue configuration;  // for ChunkEncoding
};

// A codec chain. A filter takes items of the size that the steps before it give. After a filter
// that packs bits come none but filters.
struct ItemChain {
  DataType type;
  std::vector<ArrayStep> array_steps;  // in the order of encoding, as all lists here
  bool big_endian = false;
  // Set: the little-endian items after `array_steps` are stored as these packed bits.
  std::optional<BitPacking> packing = std::nullopt;
  JsonValue packing_configuration = {};  // for ChunkEncoding
  std::vector<BytesStep> bytes_steps;
  bool is_lossy = false;
  bool may_refuse_stored = false;  // whether chunks that are encoded are decoded as a proof
};

// The codec of such a chain, for chunks of any shape. Never null.
ChunkCodecPtr MakeItemCodec(ItemChain chain);

}  // namespace unshard
