#include "codec/codecs/array_codecs.h"

#include <algorithm>
#include <vector>

namespace unshard {

const ArrayCodecDefinition* FindArrayCodec(std::string_view name) {
#define UNSHARD_ADDRESS_OF(codec) &codec(),
  static const std::vector<const ArrayCodecDefinition*> codecs{
      UNSHARD_EACH_ARRAY_CODEC(UNSHARD_ADDRESS_OF)};
#undef UNSHARD_ADDRESS_OF
  for (const ArrayCodecDefinition* const codec : codecs) {
    const auto& names = codec->names;
    if (std::find(names.begin(), names.end(), name) != names.end()) return codec;
  }
  return nullptr;
}

}  // namespace unshard
