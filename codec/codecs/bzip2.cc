// bzip2, as numcodecs and N5 store it.
#ifdef UNSHARD_BZIP2
#include <bzlib.h>
#endif

#include <cstddef>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"

namespace unshard {
namespace {

#ifdef UNSHARD_BZIP2

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
    if (status < 0) return Fail(ErrorCode::kInternal, "bz2: libbz2 failed with ", status);
    read += input - stream.avail_in;
    written += output - stream.avail_out;
  }
  stored.resize(written);
  return stored;
}

Result<Encoder> MakeBzip2Encoder(const CodecOptions& options, std::uint32_t /*item_size*/) {
  UNSHARD_ASSIGN_OR_RETURN(const int level, options.Integer("level"));
  return [level](ByteSpan plain) { return EncodeBzip2(plain, level); };
}

// The library says "1.0.8, 13-Jul-2019".
std::string Bzip2Version() {
  const std::string version = BZ2_bzlibVersion();
  return version.substr(0, version.find(','));
}

constexpr Library kLibbz2 = {"bz2", "libbz2", Bzip2Version};
constexpr CompressorFunctions kBzip2 = {DecodeBzip2, MakeBzip2Encoder};

#else
constexpr Library kLibbz2 = {"bz2", "libbz2"};
constexpr CompressorFunctions kBzip2 = {};
#endif

}  // namespace

const Library& Libbz2() { return kLibbz2; }

const CodecDefinition& Bzip2Codec() {
  static constexpr CodecDefinition::Name kNames[] = {{ArrayDialect::kZarr2, "bz2", kInSchemas},
                                                     {ArrayDialect::kN5, "bzip2", kInSchemas}};
  static constexpr CodecOption::Spelling kLevel[] = {{ArrayDialect::kN5, 9, "blockSize"}};
  static constexpr CodecOption kOptions[] = {{"level", 1, 9, 1, kLevel}};
  static constexpr CodecDefinition kDefinition{kNames, &BindCompressor<Libbz2, kBzip2>, kOptions,
                                               true};
  return kDefinition;
}

}  // namespace unshard
