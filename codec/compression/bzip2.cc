#include "codec/compression/bzip2.h"

#include <bzlib.h>

#include <cstddef>

#include "codec/compression/compressor.h"

namespace unshard {
namespace {

// A stream of the library, which End closes.
template <int (*End)(bz_stream*)>
struct Bzip2Stream : bz_stream {
  Bzip2Stream() : bz_stream{} {}
  Bzip2Stream(const Bzip2Stream&) = delete;
  Bzip2Stream& operator=(const Bzip2Stream&) = delete;
  ~Bzip2Stream() { End(this); }  // does nothing unless the stream is open
};

Result<ByteVector> DecodeBzip2(ByteSpan stored, std::uint64_t max_bytes) {
  Bzip2Stream<BZ2_bzDecompressEnd> stream;
  if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) return NoMemory("bz2");
  std::size_t read = 0;
  const auto step = [&](std::uint8_t* at, std::size_t room) -> Result<DecodeProgress> {
    const unsigned input = Clamp32(stored.size() - read);
    const unsigned output = Clamp32(room);
    stream.next_in = Unconst<char>(stored.data() + read);
    stream.avail_in = input;
    stream.next_out = reinterpret_cast<char*>(at);
    stream.avail_out = output;
    const int status = BZ2_bzDecompress(&stream);
    read += input - stream.avail_in;
    const std::size_t written = output - stream.avail_out;
    if (status != BZ_OK && status != BZ_STREAM_END) {
      return Damaged("bz2", "expected a bzip2 stream");
    }
    if (status == BZ_OK && read == stored.size() && written < output) {
      return Damaged("bz2", "the stream is cut short");
    }
    const bool done = status == BZ_STREAM_END && read == stored.size();
    if (status == BZ_STREAM_END && !done) {  // another stream follows
      BZ2_bzDecompressEnd(&stream);
      if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) return NoMemory("bz2");
    }
    return DecodeProgress{written, done};
  };
  return DecodeInSteps("bz2", max_bytes, step);
}

Result<ByteVector> EncodeBzip2(ByteSpan plain, int level) {
  Bzip2Stream<BZ2_bzCompressEnd> stream;
  if (BZ2_bzCompressInit(&stream, level, 0, 0) != BZ_OK) return NoMemory("bz2");
  ByteVector stored(plain.size() + plain.size() / 100 + 600);  // the library's own bound
  std::size_t read = 0;
  std::size_t written = 0;
  for (int status = BZ_RUN_OK; status != BZ_STREAM_END;) {
    if (written == stored.size()) stored.resize(2 * written);
    const unsigned input = Clamp32(plain.size() - read);
    const unsigned output = Clamp32(stored.size() - written);
    stream.next_in = Unconst<char>(plain.data() + read);
    stream.avail_in = input;
    stream.next_out = reinterpret_cast<char*>(stored.data() + written);
    stream.avail_out = output;
    const bool last = read + input == plain.size();
    status = BZ2_bzCompress(&stream, last ? BZ_FINISH : BZ_RUN);
    if (status < 0)
      return Fail(ErrorCode::kInternal, "bz2: libbz2 failed with " + std::to_string(status));
    read += input - stream.avail_in;
    written += output - stream.avail_out;
  }
  stored.resize(written);
  return stored;
}

Result<Encoder> MakeBzip2Encoder(const CodecOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(const int level, options.Integer("level", 1, 1, 9));
  return [level](ByteSpan plain) { return EncodeBzip2(plain, level); };
}

}  // namespace

Result<BytesCodecPtr> MakeBzip2(const std::string& name, const CodecOptions& options) {
  return MakeCompressor(name, DecodeBzip2, MakeBzip2Encoder(options));
}

}  // namespace unshard
