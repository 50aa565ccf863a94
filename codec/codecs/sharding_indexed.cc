// The shards of Zarr v3. Unshard (codec/chain/unshard.h) takes the codec out of the chain of an
// array, so that a chain of chunks never has it.
#include <string_view>

#include "codec/chain/codec_spec.h"
#include "codec/codecs/codecs.h"

namespace unshard {

const CodecDefinition& ShardingIndexedCodec() {
  static constexpr CodecDefinition::Name kNames[] = {
      {Dialect::kZarr3, kShardingIndexed, kInSchemas}};
  static constexpr std::string_view kLocations[] = {"start", "end"};
  static constexpr CodecOption kOptions[] = {
      {"chunk_shape"},
      {.name = "index_location", .absent = 1, .words = kLocations},
      {.name = kInnerCodecs, .chain_dimensions = 0},
      {.name = kIndexCodecs, .chain_dimensions = 1}};
  static constexpr CodecDefinition kDefinition{
      kNames, static_cast<CodecDefinition::BindArrayToBytes>(nullptr), kOptions};
  return kDefinition;
}

}  // namespace unshard
