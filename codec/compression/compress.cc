#include "codec/compression/compress.h"

#include <blosc.h>
#include <bzlib.h>
#include <lz4.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <memory>

namespace unshard {
namespace {

constexpr std::size_t kLargestStep = std::size_t{1} << 30;  // bzip2 counts in 32 bits

tl::unexpected<Error> CannotEncode(const char* format, const std::string& why) {
  return Fail(ErrorCode::kResourceExhausted, std::string(format) + ": " + why);
}

tl::unexpected<Error> TooLarge(const char* format, std::uint64_t limit) {
  return CannotEncode(format, "takes at most " + std::to_string(limit) + " bytes at once");
}

unsigned Clamp32(std::size_t size) { return static_cast<unsigned>(std::min(size, kLargestStep)); }

struct BzipStream {
  bz_stream stream{};
  BzipStream() = default;
  BzipStream(const BzipStream&) = delete;
  BzipStream& operator=(const BzipStream&) = delete;
  ~BzipStream() { BZ2_bzCompressEnd(&stream); }
};

}  // namespace

Result<ByteVector> ZlibEncode(ByteSpan plain, int level) {
  uLongf size = compressBound(plain.size());
  ByteVector stored(size);
  if (compress2(stored.data(), &size, plain.data(), plain.size(), level) != Z_OK) {
    return CannotEncode("zlib", "no memory");
  }
  stored.resize(size);
  return stored;
}

Result<ByteVector> ZstdEncode(ByteSpan plain, int level, bool checksum) {
  const auto close = [](ZSTD_CCtx* open) { ZSTD_freeCCtx(open); };
  const std::unique_ptr<ZSTD_CCtx, decltype(close)> context(ZSTD_createCCtx(), close);
  if (!context) return CannotEncode("zstd", "no memory");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, checksum ? 1 : 0);
  ByteVector stored(ZSTD_compressBound(plain.size()));
  const std::size_t size =
      ZSTD_compress2(context.get(), stored.data(), stored.size(), plain.data(), plain.size());
  if (ZSTD_isError(size) != 0) return CannotEncode("zstd", ZSTD_getErrorName(size));
  stored.resize(size);
  return stored;
}

Result<ByteVector> Bzip2Encode(ByteSpan plain, int level) {
  BzipStream bzip;
  if (BZ2_bzCompressInit(&bzip.stream, level, 0, 0) != BZ_OK) {
    return CannotEncode("bz2", "no memory");
  }
  ByteVector stored(plain.size() + plain.size() / 100 + 600);  // the library's own bound
  std::size_t read = 0;
  std::size_t written = 0;
  for (int status = BZ_RUN_OK; status != BZ_STREAM_END;) {
    if (written == stored.size()) stored.resize(2 * written);
    const unsigned input = Clamp32(plain.size() - read);
    const unsigned output = Clamp32(stored.size() - written);
    // The library never writes through its input pointer.
    bzip.stream.next_in = reinterpret_cast<char*>(const_cast<std::uint8_t*>(plain.data() + read));
    bzip.stream.avail_in = input;
    bzip.stream.next_out = reinterpret_cast<char*>(stored.data() + written);
    bzip.stream.avail_out = output;
    const bool last = read + input == plain.size();
    status = BZ2_bzCompress(&bzip.stream, last ? BZ_FINISH : BZ_RUN);
    if (status < 0) return Fail(ErrorCode::kInternal, "bz2: " + std::to_string(status));
    read += input - bzip.stream.avail_in;
    written += output - bzip.stream.avail_out;
  }
  stored.resize(written);
  return stored;
}

bool BloscCanEncode(const BloscOptions& options) {
  return blosc_compname_to_compcode(options.compressor.c_str()) >= 0;
}

Result<ByteVector> BloscEncode(ByteSpan plain, const BloscOptions& options) {
  if (plain.size() > BLOSC_MAX_BUFFERSIZE) return TooLarge("blosc", BLOSC_MAX_BUFFERSIZE);
  ByteVector stored(plain.size() + BLOSC_MAX_OVERHEAD);
  const int size =
      blosc_compress_ctx(options.level, static_cast<int>(options.shuffle), options.element_size,
                         plain.size(), plain.data(), stored.data(), stored.size(),
                         options.compressor.c_str(), options.block_size, /*numinternalthreads=*/1);
  if (size <= 0) return CannotEncode("blosc", "no memory, or no " + options.compressor);
  stored.resize(static_cast<std::size_t>(size));
  return stored;
}

Result<ByteVector> Lz4Encode(ByteSpan plain, int acceleration) {
  if (plain.size() > LZ4_MAX_INPUT_SIZE) return TooLarge("lz4", LZ4_MAX_INPUT_SIZE);
  const int plain_size = static_cast<int>(plain.size());
  ByteVector stored(4 + static_cast<std::size_t>(LZ4_compressBound(plain_size)));
  StoreU32Le(stored.data(), static_cast<std::uint32_t>(plain_size));
  const int size = LZ4_compress_fast(reinterpret_cast<const char*>(plain.data()),
                                     reinterpret_cast<char*>(stored.data() + 4), plain_size,
                                     static_cast<int>(stored.size() - 4), acceleration);
  if (size <= 0) return CannotEncode("lz4", "no memory");
  stored.resize(4 + static_cast<std::size_t>(size));
  return stored;
}

}  // namespace unshard
