#include "codec/compression/zstd.h"

#ifdef UNSHARD_ZSTD
#include <zstd.h>
#endif

#include <memory>
#include <string>

#include "codec/compression/compressor.h"

namespace unshard {
namespace {

#ifdef UNSHARD_ZSTD

Result<ByteVector> DecodeZstd(ByteSpan stored, std::uint64_t max_bytes) {
  const auto close = [](ZSTD_DStream* open) { ZSTD_freeDStream(open); };
  const std::unique_ptr<ZSTD_DStream, decltype(close)> stream(ZSTD_createDStream(), close);
  if (!stream) return NoMemory("zstd");
  ZSTD_inBuffer input{stored.data(), stored.size(), 0};
  const auto step = [&](std::uint8_t* at, std::size_t room) -> Result<DecodeProgress> {
    ZSTD_outBuffer output{at, room, 0};
    const std::size_t status = ZSTD_decompressStream(stream.get(), &output, &input);
    if (ZSTD_isError(status) != 0) {
      return Damaged("zstd", ZSTD_getErrorName(status));
    }
    const bool at_end = input.pos == input.size;
    if (at_end && status != 0 && output.pos < output.size) {
      return Damaged("zstd", "the frame is cut short");
    }
    return DecodeProgress{output.pos, at_end && status == 0};
  };
  return DecodeInSteps("zstd", max_bytes, step);
}

Result<ByteVector> EncodeZstd(ByteSpan plain, int level, bool checksum) {
  const auto close = [](ZSTD_CCtx* open) { ZSTD_freeCCtx(open); };
  const std::unique_ptr<ZSTD_CCtx, decltype(close)> context(ZSTD_createCCtx(), close);
  if (!context) return NoMemory("zstd");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, checksum ? 1 : 0);
  ByteVector stored(ZSTD_compressBound(plain.size()));
  const std::size_t size =
      ZSTD_compress2(context.get(), stored.data(), stored.size(), plain.data(), plain.size());
  if (ZSTD_isError(size) != 0) {
    return Fail(ErrorCode::kResourceExhausted, std::string("zstd: ") + ZSTD_getErrorName(size));
  }
  stored.resize(size);
  return stored;
}

Result<Encoder> MakeZstdEncoder(const CodecOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(const int level, options.Integer("level", 0, -131072, 22));
  UNSHARD_ASSIGN_OR_RETURN(const bool checksum, options.Boolean("checksum"));
  return [level, checksum](ByteSpan plain) { return EncodeZstd(plain, level, checksum); };
}

std::string ZstdVersion() { return ZSTD_versionString(); }

constexpr Library kLibzstd = {"zstd", "libzstd", ZstdVersion};
constexpr CompressorFunctions kZstd = {DecodeZstd, MakeZstdEncoder};

#else
constexpr Library kLibzstd = {"zstd", "libzstd"};
constexpr CompressorFunctions kZstd = {};
#endif

}  // namespace

const Library& Libzstd() { return kLibzstd; }

Result<BytesCodecPtr> MakeZstd(const std::string& name, const CodecOptions& options) {
  return MakeCompressor(name, options, Libzstd(), kZstd);
}

}  // namespace unshard
