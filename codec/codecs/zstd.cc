// zstd (RFC 8878): one or more frames are read, with or without a content size in their header; one
// frame, with a content size, is written.
#ifdef UNSHARD_ZSTD
#include <zstd.h>
#endif

#include <memory>
#include <string>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"

namespace unshard {
namespace {

#ifdef UNSHARD_ZSTD

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// Each thread keeps its context, since making one for each chunk takes time. Null: out of memory.
ZSTD_DCtx* KeptDecoder() {
  thread_local std::unique_ptr<ZSTD_DCtx, FreeContext> context;
  if (!context) context.reset(ZSTD_createDCtx());
  return context.get();
}

// Of frames that do not announce their size, and of several frames.
Result<ByteVector> DecodeZstdInSteps(ByteSpan stored, std::uint64_t max_bytes) {
  // Its window may take 128 MiB: it is not kept.
  const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  if (!context) return NoMemory("zstd");
  ZSTD_inBuffer input{stored.data(), stored.size(), 0};
  const auto step = [&](std::uint8_t* at, std::size_t room) -> Result<StreamProgress> {
    ZSTD_outBuffer output{at, room, 0};
    const std::size_t status = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(status) != 0) return Damaged("zstd", ZSTD_getErrorName(status));
    const bool at_end = input.pos == input.size;
    if (at_end && status != 0 && output.pos < output.size) {
      return Damaged("zstd", "the frame is cut short");
    }
    return StreamProgress{output.pos, at_end && status == 0};
  };
  return DecodeInSteps("zstd", stored.size(), max_bytes, step);
}

Result<ByteVector> DecodeZstd(ByteSpan stored, std::uint64_t max_bytes) {
  const unsigned long long size = ZSTD_getFrameContentSize(stored.data(), stored.size());
  const bool is_known = size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR;
  if (!is_known || ZSTD_findFrameCompressedSize(stored.data(), stored.size()) != stored.size()) {
    return DecodeZstdInSteps(stored, max_bytes);
  }
  if (size > max_bytes) return DecodesToMore("zstd", max_bytes);
  ZSTD_DCtx* const context = KeptDecoder();
  if (context == nullptr) return NoMemory("zstd");
  ByteVector plain(static_cast<std::size_t>(size));
  const std::size_t found =
      ZSTD_decompressDCtx(context, plain.data(), plain.size(), stored.data(), stored.size());
  if (ZSTD_isError(found) != 0) return Damaged("zstd", ZSTD_getErrorName(found));
  plain.resize(found);
  return plain;
}

// A context that has grown beyond this, as high levels make it, is not kept.
constexpr std::size_t kMaxKept = std::size_t{4} << 20;

Result<ByteVector> EncodeZstd(ByteSpan plain, int level, bool checksum) {
  thread_local std::unique_ptr<ZSTD_CCtx, FreeContext> context;
  if (!context) context.reset(ZSTD_createCCtx());
  if (!context) return NoMemory("zstd");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, checksum ? 1 : 0);
  ByteVector stored(ZSTD_compressBound(plain.size()));
  const std::size_t size =
      ZSTD_compress2(context.get(), stored.data(), stored.size(), plain.data(), plain.size());
  if (ZSTD_sizeof_CCtx(context.get()) > kMaxKept) context.reset();
  if (ZSTD_isError(size) != 0) {
    return Fail(ErrorCode::kResourceExhausted, "zstd: ", ZSTD_getErrorName(size));
  }
  stored.resize(size);
  return stored;
}

Result<Encoder> MakeZstdEncoder(const CodecOptions& options, std::uint32_t /*item_size*/) {
  UNSHARD_ASSIGN_OR_RETURN(const int level, options.Integer("level"));
  UNSHARD_ASSIGN_OR_RETURN(const bool checksum, options.Boolean("checksum"));
  return [level, checksum](ByteSpan plain) { return EncodeZstd(plain, level, checksum); };
}

std::string ZstdVersion() { return ZSTD_versionString(); }

constexpr LibraryCompressor kZstd = {{"zstd", "libzstd", ZstdVersion}, DecodeZstd, MakeZstdEncoder};

#else
constexpr LibraryCompressor kZstd = {{"zstd", "libzstd"}};
#endif

}  // namespace

const Library& Libzstd() { return kZstd.library; }

const CodecDefinition& ZstdCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr3, "zstd", kInSchemas},
                                                     {Dialect::kZarr2, "zstd", kInSchemas},
                                                     {Dialect::kN5, "zstd", kInSchemas}};
  static constexpr CodecOption::Spelling kLevel[] = {
      {.dialect = Dialect::kZarr3, .created = 3},
      {.dialect = Dialect::kZarr2, .created = 1},
      {.dialect = Dialect::kN5, .absent = 3, .created = 0}};
  static constexpr CodecOption kOptions[] = {
      {.name = "level", .min = -131072, .max = 22, .spellings = kLevel, .is_level = true},
      {.name = "checksum", .is_boolean = true, .only_in = Dialect::kZarr3}};
  static constexpr CodecDefinition kDefinition{kNames, &BindCompressor<kZstd>, kOptions, true};
  return kDefinition;
}

}  // namespace unshard
