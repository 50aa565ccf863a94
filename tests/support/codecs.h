// Chains and codecs for tests, from JSON.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codec/chain/codec_chain.h"
#include "codec/codecs/n5_block.h"
#include "codec/json/parser.h"
#include "codec/precomputed/scale.h"

namespace unshard {

// The chain of `codecs` of Zarr v3.
inline Result<ChunkCodecPtr> BindZarr3Chain(const JsonCursor& codecs, const DataType& type,
                                            std::size_t rank) {
  UNSHARD_ASSIGN_OR_RETURN(const ChainSpec chain, ParseChainSpec(codecs, rank));
  return CodecChain::Bind(chain, codecs.path(), {type, rank});
}

// The chain of a `compression` of N5, for blocks of at most this shape.
inline Result<ChunkCodecPtr> BindN5Chain(const JsonCursor& compression, const DataType& type,
                                         const std::vector<std::uint64_t>& block_shape) {
  UNSHARD_ASSIGN_OR_RETURN(const ChainSpec chain, N5ChainSpec(compression, block_shape));
  return CodecChain::Bind(chain, compression.path(), {type, block_shape.size()});
}

// The chain of a scale with these members, JSON without the braces.
inline Result<ChunkCodecPtr> BindVolumeChain(const std::string& members, const DataType& type,
                                             std::uint64_t channels) {
  const JsonValue scale = ParseJson("{" + members + "}").value();
  return MakePrecomputedChunkCodec(JsonCursor(scale, ""), type, channels);
}

// The bytes-to-bytes codec that Zarr v3 calls `name`, at this path of a document; null: no such
// codec.
inline Result<BytesCodecPtr> BindBytesCodec(const std::string& name, JsonValue configuration = {},
                                            const std::string& json_path = "codecs[1]") {
  return BindBytesToBytes(CodecOfZarr3(name, std::move(configuration), json_path));
}

}  // namespace unshard
