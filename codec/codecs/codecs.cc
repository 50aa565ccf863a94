#include "codec/codecs/codecs.h"

namespace unshard {

const std::vector<const CodecDefinition*>& CodecDefinitions() {
#define UNSHARD_ADDRESS_OF(codec) &codec(),
  static const std::vector<const CodecDefinition*> codecs{UNSHARD_EACH_CODEC(UNSHARD_ADDRESS_OF)};
#undef UNSHARD_ADDRESS_OF
  return codecs;
}

const CodecDefinition* FindCodec(Dialect dialect, std::string_view name) {
  constexpr std::string_view kNumcodecs = "numcodecs.";
  if (dialect == Dialect::kZarr3 && name.starts_with(kNumcodecs)) {
    return FindCodec(Dialect::kZarr2, name.substr(kNumcodecs.size()));
  }
  for (const CodecDefinition* const codec : CodecDefinitions()) {
    for (const CodecDefinition::Name& each : codec->names) {
      if (each.dialect == dialect && each.name == name && each.when.empty()) return codec;
    }
  }
  return nullptr;
}

}  // namespace unshard
