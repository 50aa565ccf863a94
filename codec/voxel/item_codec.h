// The codec of chunks that are items one after the other, encoded by array-to-array codecs before
// and bytes-to-bytes codecs after that: the chunks of Zarr arrays, raw chunks of precomputed
// volumes, the payload of N5 blocks. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codec/chain/codec.h"
#include "codec/compression/bytes_codec.h"
#include "codec/voxel/bit_packing.h"
#include "codec/voxel/chunk_codec.h"

namespace unshard {

struct ArrayStep {
  ArrayCodecPtr codec;
  std::string key = "";  // for ChunkEncoding: name and configuration; not of a transpose
};

// A bytes-to-bytes codec.
struct BytesStep {
  BytesCodecPtr codec;
  JsonValue configuration;  // for ChunkEncoding
};

// A codec chain. Each array-to-array codec is bound to what the one before it gives.
struct ItemChain {
  ArrayRepresentation decoded;         // the items of the array; the rank only for `array_steps`
  std::vector<ArrayStep> array_steps;  // in the order of encoding, as all lists here
  bool big_endian = false;             // whether items are stored in the other byte order
  // Set: the items after `array_steps` are stored as these packed bits.
  std::optional<BitPacking> packing = std::nullopt;
  JsonValue packing_configuration = {};  // for ChunkEncoding
  std::vector<BytesStep> bytes_steps;

  // What `array_steps` give.
  [[nodiscard]] const ArrayRepresentation& encoded() const {
    return array_steps.empty() ? decoded : array_steps.back().codec->encoded();
  }
};

// The codec of such a chain, for chunks of any shape. Never null.
ChunkCodecPtr MakeItemCodec(ItemChain chain);

}  // namespace unshard
