// The sharding_indexed codecs of an array's codec chain, resolved over all nested levels.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "codec/compression/codec_chain.h"
#include "codec/zarr3/shard.h"

namespace unshard {

// What a codec chain with sharding comes to.
struct ZarrSharding {
  std::vector<ZarrShardLevel> levels;  // outermost first, at least one
  // Around the whole shard, where it must be decoded as a whole.
  std::vector<std::shared_ptr<const BytesCodec>> wrapping;
  CodecChain flattened;                    // the chain of the unsharded equivalent
  std::vector<std::uint64_t> chunk_shape;  // of the innermost chunks, in array axis order
};

// Resolves `chain`, which has sharding_indexed, over shards of `shard_shape`. Fails with kDataLoss
// for what is broken and with kNotSupported, naming the codec, for what cannot be served.
// Pure function; thread-safe.
Result<ZarrSharding> ResolveSharding(const CodecChain& chain,
                                     const std::vector<std::uint64_t>& shard_shape);

}  // namespace unshard
