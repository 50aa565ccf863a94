#include "codec/codecs/file_suffixes.h"

#include <algorithm>
#include <array>
#include <string>

namespace unshard {
namespace {

struct Compression {
  std::string_view suffix;
  const char* codec;  // in Zarr v3; "": brotli
  std::array<std::string_view, 2> encodings;
};

constexpr std::array kCompressions = {
    Compression{".gz", "gzip", {"gzip", "x-gzip"}},
    Compression{".br", "", {"br", "br"}},
    Compression{".zstd", "zstd", {"zstd", "zstd"}},
    Compression{".xz", "numcodecs.lzma", {"xz", "lzma"}},
    Compression{".bz2", "numcodecs.bz2", {"bz2", "bzip2"}},
};
static_assert(kCompressions.size() == kCompressionSuffixes.size());

BytesCodecPtr CodecOf(const Compression& compression) {
  const std::string name = compression.codec;
  return name.empty() ? MakeBrotli() : *BindBytesToBytes(CodecOfZarr3(name));
}

}  // namespace

BytesCodecPtr CodecOfSuffix(std::string_view suffix) {
  return CodecOf(*std::find_if(kCompressions.begin(), kCompressions.end(),
                               [&](const Compression& each) { return each.suffix == suffix; }));
}

BytesCodecPtr CodecOfContentEncoding(std::string_view encoding) {
  for (const Compression& each : kCompressions) {
    const auto& names = each.encodings;
    if (std::find(names.begin(), names.end(), encoding) != names.end()) return CodecOf(each);
  }
  return nullptr;
}

}  // namespace unshard
