// Chunks of items one after the other, behind array-to-array and before bytes-to-bytes codecs: the
// chunks of Zarr arrays, raw chunks of precomputed volumes, the payload of N5 blocks.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "codec/compression/bytes_codec.h"
#include "codec/voxel/bit_packing.h"
#include "codec/voxel/chunk_codec.h"

namespace unshard {

// Something that turns an array into another one, before its items become bytes.
struct ArrayStep {
  std::vector<std::size_t> order;  // transpose: dimension i becomes axis order[i]
  // Or a filter of little-endian items in C order; a null pointer: a transpose.
  BytesCodecPtr filter;
  JsonValue filter_configuration;  // for ChunkEncoding
};

struct BytesStep {
  BytesCodecPtr codec;
  JsonValue configuration;  // for ChunkEncoding
};

struct ItemChain {
  DataType type;
  std::vector<ArrayStep> array_steps;  // in the order of encoding, as all lists here
  bool big_endian = false;
  // In place of whole items one after the other, little-endian ones of `type`.
  std::optional<BitPacking> packing = std::nullopt;
  JsonValue packing_configuration = {};  // for ChunkEncoding
  std::uint32_t ordered_size = 0;        // of the items after `array_steps`; 0: that of `type`
  std::vector<BytesStep> bytes_steps;
  bool is_lossy = false;
};

// The codec of such a chain. It takes chunks of any shape. Never null.
ChunkCodecPtr MakeItemCodec(ItemChain chain);

}  // namespace unshard
