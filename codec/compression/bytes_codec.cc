#include "codec/compression/bytes_codec.h"

#include "codec/compression/blosc.h"
#include "codec/compression/bzip2.h"
#include "codec/compression/checksum.h"
#include "codec/compression/fletcher32.h"
#include "codec/compression/gzip.h"
#include "codec/compression/lz4.h"
#include "codec/compression/lzma.h"
#include "codec/compression/shuffle.h"
#include "codec/compression/zstd.h"

namespace unshard {
namespace {

// The registry. To add a codec: a file with both of its directions, and a line here.
struct RegisteredCodec {
  std::string_view name;  // as metadata have it
  MakeCodec* make;
};
constexpr RegisteredCodec kCodecs[] = {
    {"blosc", MakeBlosc},
    {"crc32c", MakeCrc32c},
    {"gzip", MakeGzip},
    {"numcodecs.adler32", MakeAdler32},
    {"numcodecs.blosc", MakeBlosc},
    {"numcodecs.bz2", MakeBzip2},
    {"numcodecs.crc32", MakeCrc32},
    {"numcodecs.crc32c", MakeCrc32c},
    {"numcodecs.fletcher32", MakeFletcher32},
    {"numcodecs.gzip", MakeGzip},
    {"numcodecs.lz4", MakeLz4},
    {"numcodecs.lzma", MakeLzma},
    {"numcodecs.shuffle", MakeShuffle},
    {"numcodecs.zlib", MakeZlib},
    {"numcodecs.zstd", MakeZstd},
    {"zstd", MakeZstd},
};

}  // namespace

Result<BytesCodecPtr> MakeBytesCodec(const std::string& name, const JsonValue* configuration,
                                     const std::string& configuration_path) {
  if (configuration != nullptr && configuration->is_null()) configuration = nullptr;
  for (const RegisteredCodec& codec : kCodecs) {
    if (codec.name == name)
      return codec.make(name, CodecOptions(configuration, configuration_path));
  }
  return nullptr;
}

}  // namespace unshard
