// Resolves the sharding_indexed codecs of an array's codec chain, at all levels of nesting.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codec/chain/codec_spec.h"
#include "codec/types/data_type.h"
#include "codec/zarr3/shard.h"

namespace unshard {

// The layout that a codec chain with sharding_indexed describes.
struct ZarrSharding {
  std::vector<ZarrShardLevel> levels;  // outermost first, at least one
  // The codecs after the outermost sharding_indexed, where the shard has to be decoded as a whole.
  std::vector<BytesCodecPtr> outer_codecs;
  ChainSpec flattened;                     // the chain of the unsharded equivalent
  std::vector<std::uint64_t> chunk_shape;  // of the innermost chunks, in array axis order
};

// A sharding_indexed codec with these members, and an index of little-endian numbers and a crc32c.
// Where the index is (`index_location`) is left out: at the end.
JsonValue ShardingCodecJson(JsonValue chunk_shape, JsonValue codecs);

// The fill value of an array, an item in little-endian order.
struct FillItem {
  DataType type;
  ByteVector item;
};

// Resolves `chain`, which has sharding_indexed, for shards of `shard_shape` in an array with this
// fill value; nothing where its bytes are not known. Fails with kDataLoss on damaged metadata and
// with kNotSupported, naming the codec, on legal metadata without support. Pure function;
// thread-safe.
//
// Inner chunks that are absent have the fill value as the codecs before sharding_indexed store it,
// but those of the unsharded equivalent have it as it is: codecs that do not give it back bit by
// bit are refused. Of scale_offset and cast_value their specifications demand that they do.
Result<ZarrSharding> ResolveSharding(const ChainSpec& chain,
                                     const std::vector<std::uint64_t>& shard_shape,
                                     const std::optional<FillItem>& fill_value);

}  // namespace unshard
