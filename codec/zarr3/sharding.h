// Resolves the sharding_indexed codecs of an array's codec chain, at all levels of nesting.
#pragma once

#include <cstdint>
#include <vector>

#include "codec/compression/codec_chain.h"
#include "codec/zarr3/shard.h"

namespace unshard {

// The layout that a codec chain with sharding_indexed describes.
struct ZarrSharding {
  std::vector<ZarrShardLevel> levels;  // outermost first, at least one
  // The codecs after the outermost sharding_indexed, where the shard has to be decoded as a whole.
  std::vector<BytesCodecPtr> outer_codecs;
  CodecChain flattened;                    // the chain of the unsharded equivalent
  std::vector<std::uint64_t> chunk_shape;  // of the innermost chunks, in array axis order
};

// A sharding_indexed codec with these members, and an index of little-endian numbers and a crc32c.
// Where the index is (`index_location`) is left out: at the end.
JsonValue ShardingCodecJson(JsonValue chunk_shape, JsonValue codecs);

// Resolves `chain`, which has sharding_indexed, for shards of `shard_shape`. Fails with kDataLoss
// on damaged metadata and with kNotSupported, naming the codec, on legal metadata without support.
// Pure function; thread-safe.
Result<ZarrSharding> ResolveSharding(const CodecChain& chain,
                                     const std::vector<std::uint64_t>& shard_shape);

}  // namespace unshard
