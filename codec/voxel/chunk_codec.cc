#include "codec/voxel/chunk_codec.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "codec/core/byte_range.h"
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

Result<std::uint64_t> VoxelBytes(const DataType& type, std::span<const std::uint64_t> shape) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 47;
  const auto items = CheckedProduct(shape);
  const auto bytes = items ? CheckedMultiply(*items, type.size) : std::nullopt;
  if (!bytes || *bytes > kMost) {
    return Fail(ErrorCode::kResourceExhausted,
                "expected a chunk of at most " + std::to_string(kMost) + " bytes");
  }
  return *bytes;
}

bool SameFormat(const ChunkEncoding& a, const ChunkEncoding& b) {
  return a.items == b.items && a.big_endian == b.big_endian && a.order == b.order &&
         a.n5_header == b.n5_header &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), SameStep);
}

}  // namespace unshard
