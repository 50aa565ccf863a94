#include "codec/codecs/file_suffixes.h"

namespace unshard {

BytesCodecPtr CodecOfSuffix(std::string_view suffix) {
  if (suffix == ".br") return MakeBrotli();
  const char* name = "gzip";
  if (suffix == ".zstd") name = "zstd";
  if (suffix == ".xz") name = "numcodecs.lzma";
  if (suffix == ".bz2") name = "numcodecs.bz2";
  return *BindBytesToBytes(CodecOfZarr3(name));
}

}  // namespace unshard
