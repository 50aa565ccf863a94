// numcodecs' form of LZ4: the plain size as u32 little-endian, then one LZ4 block.
#ifdef UNSHARD_LZ4
#include <lz4.h>
#endif

#include <algorithm>
#include <limits>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"

namespace unshard {
namespace {

#ifdef UNSHARD_LZ4

Result<ByteVector> DecodeLz4(ByteSpan stored, std::uint64_t max_bytes) {
  // An LZ4 block grows at most 255-fold; a larger claim is damage, not a reason to allocate.
  constexpr std::uint64_t kLargestGrowth = 255;
  if (stored.size() < 4 || stored.size() - 4 > LZ4_MAX_INPUT_SIZE) {
    return Damaged("lz4", "expected a size of 4 bytes and one block");
  }
  const std::uint32_t plain_size = LoadU32Le(stored.data());
  const std::size_t block_size = stored.size() - 4;
  if (plain_size > LZ4_MAX_INPUT_SIZE || plain_size > kLargestGrowth * block_size) {
    return Damaged("lz4", "the block cannot decode to the ", plain_size,
                   " bytes that it announces");
  }
  if (plain_size > max_bytes) return DecodesToMore("lz4", max_bytes);
  ByteVector plain(std::max<std::size_t>(plain_size, 1));
  const int decoded = LZ4_decompress_safe(
      reinterpret_cast<const char*>(stored.data() + 4), reinterpret_cast<char*>(plain.data()),
      static_cast<int>(block_size), static_cast<int>(plain_size));
  if (decoded < 0 || static_cast<std::uint32_t>(decoded) != plain_size) {
    return Damaged("lz4", "the block does not decode to the ", plain_size,
                   " bytes that it announces");
  }
  plain.resize(plain_size);
  return plain;
}

Result<ByteVector> EncodeLz4(ByteSpan plain, int acceleration) {
  if (plain.size() > LZ4_MAX_INPUT_SIZE) return TooLargeToEncode("lz4", LZ4_MAX_INPUT_SIZE);
  const int plain_size = static_cast<int>(plain.size());
  ByteVector stored(4 + static_cast<std::size_t>(LZ4_compressBound(plain_size)));
  StoreU32Le(stored.data(), static_cast<std::uint32_t>(plain_size));
  const int size = LZ4_compress_fast(reinterpret_cast<const char*>(plain.data()),
                                     reinterpret_cast<char*>(stored.data() + 4), plain_size,
                                     static_cast<int>(stored.size() - 4), acceleration);
  if (size <= 0) return NoMemory("lz4");
  stored.resize(4 + static_cast<std::size_t>(size));
  return stored;
}

Result<Encoder> MakeLz4Encoder(const CodecOptions& options, std::uint32_t /*item_size*/) {
  UNSHARD_ASSIGN_OR_RETURN(const int acceleration, options.Integer("acceleration"));
  return [acceleration](ByteSpan plain) { return EncodeLz4(plain, acceleration); };
}

std::string Lz4Version() { return LZ4_versionString(); }

constexpr Library kLiblz4 = {"lz4", "liblz4", Lz4Version};
constexpr CompressorFunctions kLz4 = {DecodeLz4, MakeLz4Encoder};

#else
constexpr Library kLiblz4 = {"lz4", "liblz4"};
constexpr CompressorFunctions kLz4 = {};
#endif

}  // namespace

const Library& Liblz4() { return kLiblz4; }

const CodecDefinition& Lz4Codec() {
  static constexpr CodecDefinition::Name kNames[] = {{ArrayDialect::kZarr2, "lz4"}};
  constexpr std::int64_t kMaxAcceleration = std::numeric_limits<int>::max();
  static constexpr CodecOption kOptions[] = {
      {"acceleration", -kMaxAcceleration, kMaxAcceleration, 1}};
  static constexpr CodecDefinition kDefinition{kNames, &BindCompressor<Liblz4, kLz4>, kOptions,
                                               true};
  return kDefinition;
}

}  // namespace unshard
