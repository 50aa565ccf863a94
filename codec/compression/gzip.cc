#include "codec/compression/gzip.h"

#include <string>

#include "codec/compression/compressor.h"
#include "codec/compression/deflate.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMinMemberSize = 18;  // header and trailer
constexpr std::uint64_t kMaxRatio = 1032;     // of deflate

template <DeflateContainer container>
Result<BytesCodecPtr> MakeCodecOf(const std::string& name, const CodecOptions& options,
                                  int level_if_absent) {
  const auto decode = [](ByteSpan stored, std::uint64_t max_bytes) {
    return Inflate(container, stored, max_bytes);
  };
  const auto make_encoder = [&]() -> Result<Encoder> {
    UNSHARD_ASSIGN_OR_RETURN(const int level, options.Integer("level", level_if_absent, 0, 9));
    return [level](ByteSpan plain) -> Result<ByteVector> {
      return DeflateInUse().deflate(container, plain, level);
    };
  };
  return MakeCompressor(name, decode, make_encoder());
}

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

// Without a level in the configuration: as TensorStore's gzip, and as numcodecs' GZip and Zlib.
Result<BytesCodecPtr> MakeGzip(const std::string& name, const CodecOptions& options) {
  return MakeCodecOf<DeflateContainer::kGzip>(name, options, name == "gzip" ? 6 : 1);
}

Result<BytesCodecPtr> MakeZlib(const std::string& name, const CodecOptions& options) {
  return MakeCodecOf<DeflateContainer::kZlib>(name, options, 1);
}

}  // namespace unshard
