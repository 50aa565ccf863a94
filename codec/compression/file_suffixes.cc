#include "codec/compression/file_suffixes.h"

#include "codec/compression/brotli.h"

namespace unshard {

BytesCodecPtr CodecOfSuffix(std::string_view suffix) {
  if (suffix == ".br") return MakeBrotli();
  const char* name = "gzip";
  if (suffix == ".zstd") name = "zstd";
  if (suffix == ".xz") name = "numcodecs.lzma";
  if (suffix == ".bz2") name = "numcodecs.bz2";
  return *MakeBytesCodec(name, nullptr, {});
}

}  // namespace unshard
