#include "codec/compression/bzip2.h"

#include <bzlib.h>

#include <cstddef>

#include "codec/compression/compressor.h"

namespace unshard {
namespace {

struct Decompression {
  bz_stream stream{};
  bool open = false;
  bool Reset() {
    if (open) BZ2_bzDecompressEnd(&stream);
    open = BZ2_bzDecompressInit(&stream, 0, 0) == BZ_OK;
    return open;
  }
  Decompression() = default;
  Decompression(const Decompression&) = delete;
  Decompression& operator=(const Decompression&) = delete;
  ~Decompression() {
    if (open) BZ2_bzDecompressEnd(&stream);
  }
};

Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) {
  Decompression bzip;
  if (!bzip.Reset()) return NoMemory("bz2");
  std::size_t read = 0;
  const auto step = [&](std::uint8_t* at, std::size_t room) -> Result<DecodeProgress> {
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
      return NoMemory("bz2");
    }
    return DecodeProgress{written, done};
  };
  return DecodeInSteps("bz2", max_bytes, step);
}

struct Compression {
  bz_stream stream{};
  Compression() = default;
  Compression(const Compression&) = delete;
  Compression& operator=(const Compression&) = delete;
  ~Compression() { BZ2_bzCompressEnd(&stream); }
};

Result<ByteVector> Encode(ByteSpan plain, int level) {
  Compression bzip;
  if (BZ2_bzCompressInit(&bzip.stream, level, 0, 0) != BZ_OK) {
    return NoMemory("bz2");
  }
  ByteVector stored(plain.size() + plain.size() / 100 + 600);  // the library's own bound
  std::size_t read = 0;
  std::size_t written = 0;
  for (int status = BZ_RUN_OK; status != BZ_STREAM_END;) {
    if (written == stored.size()) stored.resize(2 * written);
    const unsigned input = Clamp32(plain.size() - read);
    const unsigned output = Clamp32(stored.size() - written);
    bzip.stream.next_in = Unconst<char>(plain.data() + read);
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

Result<Encoder> MakeEncoder(const CodecOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(const int level, options.Integer("level", 1, 1, 9));
  return [level](ByteSpan plain) { return Encode(plain, level); };
}

}  // namespace

Result<BytesCodecPtr> MakeBzip2(const std::string& name, const CodecOptions& options) {
  return MakeCompressor(name, Decode, MakeEncoder(options));
}

}  // namespace unshard
