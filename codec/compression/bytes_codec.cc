#include "codec/compression/bytes_codec.h"

#include "codec/compression/codecs.h"

namespace unshard {

Result<std::shared_ptr<const BytesCodec>> MakeBytesCodec(const std::string& name,
                                                         const JsonValue* configuration,
                                                         const std::string& json_path) {
  if (configuration != nullptr && configuration->is_null()) configuration = nullptr;
  const CodecOptions options(configuration, json_path);
#define UNSHARD_LIST_CODEC(codec) Make##codec,
  for (MakeCodec* const make : {UNSHARD_BYTES_CODECS(UNSHARD_LIST_CODEC)}) {
    UNSHARD_ASSIGN_OR_RETURN(auto codec, make(name, options));
    if (codec) return codec;
  }
#undef UNSHARD_LIST_CODEC
  return nullptr;
}

}  // namespace unshard
