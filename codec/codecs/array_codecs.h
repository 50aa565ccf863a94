// The list of the array-to-array codecs that documents name, without the transpose.
#pragma once

#include "codec/chain/definition.h"

namespace unshard {

// Each is a function of this list, `const ArrayCodecDefinition& DeltaCodec()`, which a source of
// this folder defines.
#define UNSHARD_EACH_ARRAY_CODEC(codec)                                                  \
  codec(DeltaCodec) codec(FixedScaleOffsetCodec) codec(AsTypeCodec) codec(PackBitsCodec) \
      codec(QuantizeCodec) codec(BitRoundCodec)

#define UNSHARD_DECLARE_ARRAY_CODEC(codec) const ArrayCodecDefinition& codec();
UNSHARD_EACH_ARRAY_CODEC(UNSHARD_DECLARE_ARRAY_CODEC)
#undef UNSHARD_DECLARE_ARRAY_CODEC

}  // namespace unshard
