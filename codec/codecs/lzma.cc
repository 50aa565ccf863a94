// LZMA as numcodecs and N5 (xz) store it: .xz and .lzma streams are read, .xz is written.
#ifdef UNSHARD_LZMA
#include <lzma.h>
#endif

#include <cstddef>
#include <string>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"

namespace unshard {
namespace {

// Needed to decode, too.
Result<int> FormatOf(const CodecOptions& options) { return options.Integer("format"); }

#ifdef UNSHARD_LZMA

constexpr std::uint64_t kMaxMemory = std::uint64_t{1} << 30;  // of the decoder's dictionary

struct LzmaStream : lzma_stream {
  LzmaStream() : lzma_stream(LZMA_STREAM_INIT) {}
  LzmaStream(const LzmaStream&) = delete;
  LzmaStream& operator=(const LzmaStream&) = delete;
  ~LzmaStream() { lzma_end(this); }
};

Result<ByteVector> DecodeLzma(ByteSpan stored, std::uint64_t max_bytes) {
  LzmaStream stream;
  if (lzma_auto_decoder(&stream, kMaxMemory, LZMA_CONCATENATED) != LZMA_OK) {
    return NoMemory("lzma");
  }
  StreamInput input(stored);
  const auto step = [&](std::uint8_t* at, std::size_t room) -> Result<StreamProgress> {
    lzma_ret status = LZMA_OK;
    const std::size_t written = input.Feed(stream, at, room, [&](bool is_all) {
      status = lzma_code(&stream, is_all ? LZMA_FINISH : LZMA_RUN);
    });
    if (status == LZMA_MEM_ERROR || status == LZMA_MEMLIMIT_ERROR) return NoMemory("lzma");
    if (status != LZMA_OK && status != LZMA_STREAM_END) {
      return Damaged("lzma", "expected a whole .xz or .lzma stream");
    }
    const bool done = status == LZMA_STREAM_END;
    if (done && !input.rest().empty()) return Damaged("lzma", "bytes follow the stream");
    return StreamProgress{written, done};
  };
  return DecodeInSteps("lzma", stored.size(), max_bytes, step);
}

struct XzOptions {
  std::uint32_t preset = 6;
  lzma_check check = LZMA_CHECK_CRC64;
};

Result<ByteVector> EncodeXz(ByteSpan plain, const XzOptions& options) {
  LzmaStream stream;
  if (lzma_easy_encoder(&stream, options.preset, options.check) != LZMA_OK) return NoMemory("lzma");
  StreamInput input(plain);
  const auto step = [&](std::uint8_t* at, std::size_t room) -> Result<StreamProgress> {
    lzma_ret status = LZMA_OK;
    const std::size_t written = input.Feed(stream, at, room, [&](bool is_all) {
      status = lzma_code(&stream, is_all ? LZMA_FINISH : LZMA_RUN);
    });
    if (status == LZMA_MEM_ERROR) return NoMemory("lzma");
    if (status != LZMA_OK && status != LZMA_STREAM_END) {
      return Fail(ErrorCode::kInternal, "lzma: liblzma failed with ", static_cast<int>(status));
    }
    return StreamProgress{written, status == LZMA_STREAM_END};
  };
  return EncodeInSteps("lzma", lzma_stream_buffer_bound(plain.size()), step);
}

Result<Encoder> MakeXzEncoder(const CodecOptions& options, std::uint32_t /*item_size*/) {
  UNSHARD_ASSIGN_OR_RETURN(const auto filters, options.Find("filters"));
  if (filters) return filters->Expected("null, because filters are not supported");
  UNSHARD_ASSIGN_OR_RETURN(const int format, FormatOf(options));
  if (format != 1) {
    return Fail(ErrorCode::kNotSupported, "only format 1 (.xz) can be written");
  }
  XzOptions xz;
  UNSHARD_ASSIGN_OR_RETURN(const int preset, options.Integer("preset"));
  xz.preset = static_cast<std::uint32_t>(preset);
  UNSHARD_ASSIGN_OR_RETURN(const int check, options.Integer("check"));
  if (check >= 0) xz.check = static_cast<lzma_check>(check);
  if (lzma_check_is_supported(xz.check) == 0) {
    return Fail(ErrorCode::kNotSupported, "unknown check ", check);
  }
  return [xz](ByteSpan plain) { return EncodeXz(plain, xz); };
}

std::string LzmaVersion() { return lzma_version_string(); }

constexpr LibraryCompressor kXz = {{"lzma", "liblzma", LzmaVersion}, DecodeLzma, MakeXzEncoder};

#else
constexpr LibraryCompressor kXz = {{"lzma", "liblzma"}};
#endif

// Streams of format 3 do not say how they are encoded.
Result<BytesCodecPtr> BindLzma(const CodecSpec& spec, std::uint32_t item_size) {
  UNSHARD_ASSIGN_OR_RETURN(const int format, FormatOf(spec.options()));
  if (format == 3) {
    return Fail(ErrorCode::kNotSupported, "the codec \"", spec.name,
                "\" with format 3 (raw LZMA) is not supported");
  }
  return MakeCompressor(spec, item_size, kXz);
}

}  // namespace

const Library& Liblzma() { return kXz.library; }

const CodecDefinition& LzmaCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "lzma"},
                                                     {Dialect::kN5, "xz", kInSchemas}};
  constexpr Dialect kZarr2 = Dialect::kZarr2;
  static constexpr CodecOption kOptions[] = {
      {.name = "format",
       .min = 1,
       .max = 3,
       .absent = 1,
       .only_in = kZarr2,
       .needed_to_decode = true},
      {.name = "preset", .max = 9, .absent = 6, .is_level = true},
      {.name = "check", .min = -1, .max = 10, .absent = -1, .only_in = kZarr2},
      {.name = "filters", .only_in = kZarr2, .needed_to_decode = true}};
  static constexpr CodecDefinition kDefinition{kNames, &BindLzma, kOptions, true};
  return kDefinition;
}

}  // namespace unshard
