#include "codec/voxel/chunk_codec.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "codec/json/meaning.h"

namespace unshard {
namespace {

// Codecs whose output describes itself: no configuration is needed to decode it.
constexpr std::array<std::string_view, 12> kSelfDescribing = {
    "gzip",          "zstd",           "blosc",          "crc32c",
    "numcodecs.bz2", "numcodecs.lzma", "numcodecs.lz4",  "numcodecs.zlib",
    "n5.lz4",        "numcodecs.gzip", "numcodecs.zstd", "numcodecs.blosc"};

// The name of the Zarr v3 codec with the same format.
std::string_view FormatOf(std::string_view name) {
  for (const std::string_view own : {"numcodecs.gzip", "numcodecs.zstd", "numcodecs.blosc"}) {
    if (name == own) return own.substr(own.find('.') + 1);
  }
  return name;
}

bool SameStep(const ChunkEncoding::Step& a, const ChunkEncoding::Step& b) {
  if (FormatOf(a.name) != FormatOf(b.name)) return false;
  const bool describes_itself =
      std::find(kSelfDescribing.begin(), kSelfDescribing.end(), a.name) != kSelfDescribing.end();
  return describes_itself || SameMeaning(a.configuration, b.configuration);
}

}  // namespace

Status RefuseOtherType(const Voxels& voxels, const DataType& expected) {
  if (voxels.type() == expected) return {};
  return Fail(ErrorCode::kInvalidArgument, "expected voxels of " + DataTypeName(expected) +
                                               ", found " + DataTypeName(voxels.type()));
}

bool SameFormat(const ChunkEncoding& a, const ChunkEncoding& b) {
  return a.items == b.items && a.big_endian == b.big_endian && a.order == b.order &&
         a.n5_header == b.n5_header &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), SameStep);
}

}  // namespace unshard
