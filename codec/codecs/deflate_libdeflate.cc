// libdeflate deflates faster than zlib. It inflates whole buffers only, and is not used for that.
#include "codec/codecs/deflate.h"

#ifdef UNSHARD_LIBDEFLATE
#include <libdeflate.h>
#endif

#include <algorithm>
#include <array>
#include <new>

namespace unshard {
namespace {

#ifdef UNSHARD_LIBDEFLATE

struct FreeCompressor {
  void operator()(libdeflate_compressor* compressor) const {
    libdeflate_free_compressor(compressor);
  }
};

// Each thread keeps its last compressor: making one takes 670 KB, of which 256 KB are hash tables.
libdeflate_compressor& CompressorOf(int level) {
  thread_local std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor;
  thread_local int its_level = -1;  // a thread encodes for one dataset, with one level
  if (its_level != level) {
    compressor.reset();
    its_level = -1;
    compressor.reset(libdeflate_alloc_compressor(level));
    if (!compressor) throw std::bad_alloc();  // the only failure with a level that exists
    its_level = level;
  }
  return *compressor;
}

// For each level of zlib, that of libdeflate whose output is about as small for segmentations: its
// own level 6 would take a quarter more than zlib's.
constexpr std::array<int, 10> kLevels{0, 1, 2, 3, 4, 5, 7, 8, 8, 9};

ByteVector DeflateByLibdeflate(DeflateContainer container, ByteSpan plain, int level) {
  const bool gzip = container == DeflateContainer::kGzip;
  const auto bound = gzip ? libdeflate_gzip_compress_bound : libdeflate_zlib_compress_bound;
  const auto compress = gzip ? libdeflate_gzip_compress : libdeflate_zlib_compress;
  const auto of_zlib = static_cast<std::size_t>(std::clamp(level, 0, 9));
  libdeflate_compressor& compressor = CompressorOf(kLevels[of_zlib]);
  const std::size_t most = bound(&compressor, plain.size());
  const auto stored = std::make_unique_for_overwrite<std::uint8_t[]>(most);
  const std::size_t size = compress(&compressor, plain.data(), plain.size(), stored.get(), most);
  return {stored.get(), stored.get() + size};
}

// libdeflate takes a null pointer, which no bytes may have, for a request of the initial value.
std::uint32_t Crc32ByLibdeflate(std::uint32_t checksum, ByteSpan bytes) {
  if (bytes.empty()) return checksum;
  return libdeflate_crc32(checksum, bytes.data(), bytes.size());
}

std::uint32_t Adler32ByLibdeflate(std::uint32_t checksum, ByteSpan bytes) {
  if (bytes.empty()) return checksum;
  return libdeflate_adler32(checksum, bytes.data(), bytes.size());
}

// Of the headers: the library does not say its own.
std::string LibdeflateVersion() { return LIBDEFLATE_VERSION_STRING; }

constexpr Library kLibdeflate = {"", "libdeflate", LibdeflateVersion};
constexpr DeflateFunctions kLibdeflateFunctions = {&kLibdeflate, nullptr, DeflateByLibdeflate,
                                                   Crc32ByLibdeflate, Adler32ByLibdeflate};

#else
constexpr Library kLibdeflate = {"", "libdeflate"};
constexpr DeflateFunctions kLibdeflateFunctions = {&kLibdeflate};
#endif

}  // namespace

const Library& Libdeflate() { return kLibdeflate; }

const DeflateFunctions& LibdeflateDeflate() { return kLibdeflateFunctions; }

}  // namespace unshard
