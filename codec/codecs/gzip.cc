#include "codec/codecs/gzip.h"

#include <string>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"
#include "codec/codecs/deflate.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMinMemberSize = 18;  // header and trailer
constexpr std::uint64_t kMaxRatio = 1032;     // of deflate

template <DeflateContainer container>
Result<BytesCodecPtr> BindDeflate(const CodecSpec& spec, std::uint32_t /*item_size*/) {
  const auto decode = [](ByteSpan stored, std::uint64_t max_bytes) {
    return Inflate(container, stored, max_bytes);
  };
  const auto make_encoder = [&]() -> Result<Encoder> {
    UNSHARD_ASSIGN_OR_RETURN(const int level, spec.options().Integer("level"));
    return [level](ByteSpan plain) -> Result<ByteVector> {
      return DeflateInUse().deflate(container, plain, level);
    };
  };
  return MakeCompressor(spec, decode, make_encoder());
}

// Without a level: as TensorStore's gzip, and as numcodecs' GZip and Zlib. N5 has -1 for the usual
// one.
constexpr CodecOption::Spelling kLevel[] = {{Dialect::kZarr2, 1}, {Dialect::kN5, -1, "", -1}};
constexpr CodecOption kOptions[] = {
    {.name = "level", .max = 9, .absent = 6, .spellings = kLevel, .is_level = true}};

}  // namespace

Result<ByteVector> GzipDecode(ByteSpan stored, std::uint64_t max_bytes,
                              std::uint64_t expected_bytes) {
  return Inflate(DeflateContainer::kGzip, stored, max_bytes, expected_bytes);
}

ByteVector GzipEncode(ByteSpan plain, int level) {
  return DeflateInUse().deflate(DeflateContainer::kGzip, plain, level);
}

// Incompressible data are stored in blocks: by libdeflate in blocks of at least 5000 bytes, each
// with a header of 5 bytes; zlib adds 7 bytes, and less than libdeflate for each block.
std::uint64_t MaxGzipSize(std::uint64_t plain_size) {
  constexpr std::uint64_t kMinBlock = 5000;
  constexpr std::uint64_t kBlockHeader = 5;
  return plain_size + (plain_size / kMinBlock + 1) * kBlockHeader + 2 + kMinMemberSize;
}

std::optional<std::uint64_t> PlausibleGzipSize(ByteSpan trailer, std::uint64_t stored_size) {
  if (trailer.size() != 4 || stored_size < kMinMemberSize) return std::nullopt;
  const std::uint64_t claim = LoadU32Le(trailer.data());
  if (claim / kMaxRatio > stored_size) return std::nullopt;
  if (stored_size > MaxGzipSize(claim)) return std::nullopt;
  return claim;
}

const CodecDefinition& GzipCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr3, "gzip", kInSchemas},
                                                     {Dialect::kZarr2, "gzip", kInSchemas},
                                                     {Dialect::kN5, "gzip", kInSchemas}};
  static constexpr CodecDefinition kDefinition{kNames, &BindDeflate<DeflateContainer::kGzip>,
                                               kOptions, true};
  return kDefinition;
}

const CodecDefinition& ZlibCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "zlib", kInSchemas},
                                                     {Dialect::kN5, "gzip", kInSchemas, "useZlib"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindDeflate<DeflateContainer::kZlib>,
                                               kOptions, true, &GzipCodec};
  return kDefinition;
}

}  // namespace unshard
