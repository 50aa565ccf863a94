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
  StreamInput input(stored);
  const auto step = [&](std::uint8_t* at, std::size_t room) -> Result<StreamProgress> {
    int status = BZ_OK;
    const std::size_t written =
        input.Feed(stream, at, room, [&](bool) { status = BZ2_bzDecompress(&stream); });
    if (status != BZ_OK && status != BZ_STREAM_END) {
      return Damaged("bz2", "expected a bzip2 stream");
    }
    const bool at_end = input.rest().empty();
    if (status == BZ_OK && at_end && written < StreamInput::Most(room)) {
      return Damaged("bz2", "the stream is cut short");
    }
    if (status == BZ_STREAM_END && !at_end) {  // another stream follows
      BZ2_bzDecompressEnd(&stream);
      if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) return NoMemory("bz2");
    }
    return StreamProgress{written, at_end && status == BZ_STREAM_END};
  };
  return DecodeInSteps("bz2", stored.size(), max_bytes, step);
}

Result<ByteVector> EncodeBzip2(ByteSpan plain, int level) {
  Bzip2Stream<BZ2_bzCompressEnd> stream;
  if (BZ2_bzCompressInit(&stream, level, 0, 0) != BZ_OK) return NoMemory("bz2");
  StreamInput input(plain);
  const auto step = [&](std::uint8_t* at, std::size_t room) -> Result<StreamProgress> {
    int status = BZ_OK;
    const std::size_t written = input.Feed(stream, at, room, [&](bool is_all) {
      status = BZ2_bzCompress(&stream, is_all ? BZ_FINISH : BZ_RUN);
    });
    if (status < 0) return Fail(ErrorCode::kInternal, "bz2: libbz2 failed with ", status);
    return StreamProgress{written, status == BZ_STREAM_END};
  };
  const std::size_t bound = plain.size() + plain.size() / 100 + 600;  // the library's own
  return EncodeInSteps("bz2", bound, step);
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

constexpr LibraryCompressor kBzip2 = {
    {"bz2", "libbz2", Bzip2Version}, DecodeBzip2, MakeBzip2Encoder};

#else
constexpr LibraryCompressor kBzip2 = {{"bz2", "libbz2"}};
#endif

}  // namespace

const Library& Libbz2() { return kBzip2.library; }

const CodecDefinition& Bzip2Codec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "bz2", kInSchemas},
                                                     {Dialect::kN5, "bzip2", kInSchemas}};
  static constexpr CodecOption::Spelling kLevel[] = {{Dialect::kN5, 9, "blockSize"}};
  static constexpr CodecOption kOptions[] = {
      {.name = "level", .min = 1, .max = 9, .absent = 1, .spellings = kLevel, .is_level = true}};
  static constexpr CodecDefinition kDefinition{kNames, &BindCompressor<kBzip2>, kOptions, true};
  return kDefinition;
}

}  // namespace unshard
