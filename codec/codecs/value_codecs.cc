// Codecs of Zarr v3 that are known to encode each item by itself, and cannot be bound: arrays with
// them are presented, and their voxels cannot be read.
#include "codec/codecs/codecs.h"

namespace unshard {

const CodecDefinition& ScaleOffsetCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{ArrayDialect::kZarr3, "scale_offset"}};
  static constexpr CodecDefinition kDefinition{
      .names = kNames,
      .bind = static_cast<CodecDefinition::BindArrayToArray>(nullptr),
      .dependence = Dependence::kItem};
  return kDefinition;
}

const CodecDefinition& CastValueCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{ArrayDialect::kZarr3, "cast_value"}};
  static constexpr CodecDefinition kDefinition{
      .names = kNames,
      .bind = static_cast<CodecDefinition::BindArrayToArray>(nullptr),
      .dependence = Dependence::kItem,
      .keeps_zero = true};
  return kDefinition;
}

}  // namespace unshard
