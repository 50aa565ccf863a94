#include "codec/compression/decompress.h"

#include <blosc.h>
#include <bzlib.h>
#include <lz4.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>

namespace unshard {
namespace {

constexpr std::size_t kFirstOutput = std::size_t{64} << 10;
constexpr std::size_t kLargestStep = std::size_t{1} << 30;  // zlib and bzip2 count in 32 bits

tl::unexpected<Error> Damaged(const char* format, const std::string& expected) {
  return Fail(ErrorCode::kDataLoss, std::string(format) + ": " + expected);
}

tl::unexpected<Error> TooLarge(const char* format, std::uint64_t max_bytes) {
  return Fail(ErrorCode::kResourceExhausted, std::string(format) + ": decodes to more than " +
                                                 std::to_string(max_bytes) + " bytes");
}

unsigned Clamp32(std::size_t size) { return static_cast<unsigned>(std::min(size, kLargestStep)); }

struct Progress {
  std::size_t written = 0;
  bool done = false;
};

// Grows the output as `step(at, room)` fills it. One byte above the bound is given to the decoder,
// so that an output of exactly `max_bytes` is told from a longer one.
template <class Step>
Result<ByteVector> Collect(const char* format, std::uint64_t max_bytes, const Step& step) {
  const std::uint64_t limit =
      std::min<std::uint64_t>(max_bytes, std::numeric_limits<std::ptrdiff_t>::max() - 1) + 1;
  ByteVector output;
  std::size_t used = 0;
  for (;;) {
    if (used == output.size()) {
      const std::size_t wanted = std::max(kFirstOutput, output.size() * 2);
      output.resize(static_cast<std::size_t>(std::min<std::uint64_t>(wanted, limit)));
    }
    UNSHARD_ASSIGN_OR_RETURN(const Progress progress,
                             step(output.data() + used, output.size() - used));
    used += progress.written;
    if (used > max_bytes) return TooLarge(format, max_bytes);
    if (progress.done) break;
  }
  output.resize(used);
  return output;
}

// Decoders of these libraries never write through their input pointers, whatever its type says.
template <class To>
To* Unconst(const std::uint8_t* bytes) {
  return reinterpret_cast<To*>(const_cast<std::uint8_t*>(bytes));
}

struct BzipStream {
  bz_stream stream{};
  bool open = false;
  bool Reset() {
    if (open) BZ2_bzDecompressEnd(&stream);
    open = BZ2_bzDecompressInit(&stream, 0, 0) == BZ_OK;
    return open;
  }
  BzipStream() = default;
  BzipStream(const BzipStream&) = delete;
  BzipStream& operator=(const BzipStream&) = delete;
  ~BzipStream() {
    if (open) BZ2_bzDecompressEnd(&stream);
  }
};

}  // namespace

Result<ByteVector> ZlibDecode(ByteSpan stored, std::uint64_t max_bytes) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return Fail(ErrorCode::kResourceExhausted, "zlib: no memory");
  const auto close = [](z_stream* open) { inflateEnd(open); };
  const std::unique_ptr<z_stream, decltype(close)> closer(&stream, close);
  std::size_t read = 0;
  return Collect("zlib", max_bytes, [&](std::uint8_t* at, std::size_t room) -> Result<Progress> {
    const unsigned input = Clamp32(stored.size() - read);
    const unsigned output = Clamp32(room);
    stream.next_in = Unconst<Bytef>(stored.data() + read);
    stream.avail_in = input;
    stream.next_out = at;
    stream.avail_out = output;
    const int status = inflate(&stream, Z_NO_FLUSH);
    read += input - stream.avail_in;
    const Progress progress{output - stream.avail_out, status == Z_STREAM_END};
    if (progress.done && read != stored.size()) {
      return Damaged("zlib", "expected no bytes after the stream");
    }
    if (status == Z_BUF_ERROR) return Damaged("zlib", "the stream is cut short");
    if (status != Z_OK && !progress.done) {
      return Damaged("zlib", "expected a zlib stream");
    }
    return progress;
  });
}

Result<ByteVector> ZstdDecode(ByteSpan stored, std::uint64_t max_bytes) {
  const auto close = [](ZSTD_DStream* open) { ZSTD_freeDStream(open); };
  const std::unique_ptr<ZSTD_DStream, decltype(close)> stream(ZSTD_createDStream(), close);
  if (!stream) return Fail(ErrorCode::kResourceExhausted, "zstd: no memory");
  ZSTD_inBuffer input{stored.data(), stored.size(), 0};
  return Collect("zstd", max_bytes, [&](std::uint8_t* at, std::size_t room) -> Result<Progress> {
    ZSTD_outBuffer output{at, room, 0};
    const std::size_t status = ZSTD_decompressStream(stream.get(), &output, &input);
    if (ZSTD_isError(status) != 0) {
      return Damaged("zstd", ZSTD_getErrorName(status));
    }
    const bool at_end = input.pos == input.size;
    if (at_end && status != 0 && output.pos < output.size) {
      return Damaged("zstd", "the frame is cut short");
    }
    return Progress{output.pos, at_end && status == 0};
  });
}

Result<ByteVector> Bzip2Decode(ByteSpan stored, std::uint64_t max_bytes) {
  BzipStream bzip;
  if (!bzip.Reset()) return Fail(ErrorCode::kResourceExhausted, "bz2: no memory");
  std::size_t read = 0;
  return Collect("bz2", max_bytes, [&](std::uint8_t* at, std::size_t room) -> Result<Progress> {
    const unsigned input = Clamp32(stored.size() - read);
    const unsigned output = Clamp32(room);
    bzip.stream.next_in = Unconst<char>(stored.data() + read);
    bzip.stream.avail_in = input;
    bzip.stream.next_out = reinterpret_cast<char*>(at);
    bzip.stream.avail_out = output;
    const int status = BZ2_bzDecompress(&bzip.stream);
    read += input - bzip.stream.avail_in;
    const std::size_t written = output - bzip.stream.avail_out;
    if (status != BZ_OK && status != BZ_STREAM_END) {
      return Damaged("bz2", "expected a bzip2 stream");
    }
    if (status == BZ_OK && read == stored.size() && written < output) {
      return Damaged("bz2", "the stream is cut short");
    }
    const bool done = status == BZ_STREAM_END && read == stored.size();
    if (status == BZ_STREAM_END && !done && !bzip.Reset()) {
      return Fail(ErrorCode::kResourceExhausted, "bz2: no memory");
    }
    return Progress{written, done};
  });
}

Result<ByteVector> BloscDecode(ByteSpan stored, std::uint64_t max_bytes) {
  std::size_t plain_size = 0;
  if (stored.size() < BLOSC_MIN_HEADER_LENGTH ||
      blosc_cbuffer_validate(stored.data(), stored.size(), &plain_size) != 0) {
    return Damaged("blosc", "expected a Blosc buffer of " + std::to_string(stored.size()) +
                                " bytes with a valid header");
  }
  if (plain_size > max_bytes) return TooLarge("blosc", max_bytes);
  ByteVector plain(plain_size);
  if (plain_size == 0) return plain;
  const int decoded =
      blosc_decompress_ctx(stored.data(), plain.data(), plain.size(), /*numinternalthreads=*/1);
  if (decoded < 0 || static_cast<std::size_t>(decoded) != plain_size) {
    return Damaged("blosc", "the buffer does not decode to the " + std::to_string(plain_size) +
                                " bytes that it announces");
  }
  return plain;
}

Result<ByteVector> Lz4Decode(ByteSpan stored, std::uint64_t max_bytes) {
  // An LZ4 block grows at most 255-fold; a larger claim is damage, not a reason to allocate.
  constexpr std::uint64_t kLargestGrowth = 255;
  if (stored.size() < 4 || stored.size() - 4 > LZ4_MAX_INPUT_SIZE) {
    return Damaged("lz4", "expected a size of 4 bytes and one block");
  }
  const std::uint32_t plain_size = LoadU32Le(stored.data());
  const std::size_t block_size = stored.size() - 4;
  if (plain_size > LZ4_MAX_INPUT_SIZE || plain_size > kLargestGrowth * block_size) {
    return Damaged("lz4", "the block cannot decode to the " + std::to_string(plain_size) +
                              " bytes that it announces");
  }
  if (plain_size > max_bytes) return TooLarge("lz4", max_bytes);
  ByteVector plain(std::max<std::size_t>(plain_size, 1));
  const int decoded = LZ4_decompress_safe(
      reinterpret_cast<const char*>(stored.data() + 4), reinterpret_cast<char*>(plain.data()),
      static_cast<int>(block_size), static_cast<int>(plain_size));
  if (decoded < 0 || static_cast<std::uint32_t>(decoded) != plain_size) {
    return Damaged("lz4", "the block does not decode to the " + std::to_string(plain_size) +
                              " bytes that it announces");
  }
  plain.resize(plain_size);
  return plain;
}

}  // namespace unshard
