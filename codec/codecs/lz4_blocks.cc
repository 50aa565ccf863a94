// LZ4 as N5 datasets contain it. Written: the stream of lz4-java, blocks with a header and a
// checksum, and an empty one at the end. Read: also numcodecs' form, the plain size and one block,
// and the bare block that z5 writes; these two only where the plain size is exactly `max_bytes`,
// because a bare block does not say how long its plain bytes are.
#ifdef UNSHARD_LZ4
#include <lz4.h>
#include <xxhash.h>
#endif

#include <algorithm>
#include <bit>
#include <string_view>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"
#include "codec/core/text.h"

namespace unshard {
namespace {

#ifdef UNSHARD_LZ4

constexpr const char* kName = "lz4";
constexpr std::string_view kMagic = "LZ4Block";
constexpr std::size_t kHeaderSize = 21;
constexpr std::uint8_t kStored = 0x10;
constexpr std::uint8_t kCompressed = 0x20;
constexpr unsigned kSmallestLog = 10;  // level n in the token: blocks of at most 2^(10 + n) bytes
constexpr XXH32_hash_t kSeed = 0x9747b28c;
constexpr std::uint32_t kChecksumBits = 0x0fffffff;  // lz4-java stores 28 of the 32

std::uint32_t ChecksumOf(ByteSpan plain) {
  return XXH32(plain.data(), plain.size(), kSeed) & kChecksumBits;
}

// Decodes one LZ4 block to exactly `size` bytes at `at`.
bool DecodeBlock(ByteSpan block, std::uint8_t* at, std::size_t size) {
  if (block.size() > LZ4_MAX_INPUT_SIZE || size > LZ4_MAX_INPUT_SIZE) return false;
  const int decoded =
      LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(at),
                          static_cast<int>(block.size()), static_cast<int>(size));
  return decoded >= 0 && static_cast<std::size_t>(decoded) == size;
}

struct BlockHeader {
  std::uint8_t method;
  std::uint32_t most;  // plain bytes of any block of the stream
  std::uint32_t stored_size;
  std::uint32_t plain_size;
  std::uint32_t checksum;
};

Result<BlockHeader> ParseHeader(ByteSpan stream) {
  if (stream.size() < kHeaderSize || AsText(stream.first(kMagic.size())) != kMagic) {
    return Damaged(kName, "expected a block that begins with \"LZ4Block\"");
  }
  const std::uint8_t token = stream[kMagic.size()];
  const std::uint8_t* const numbers = stream.data() + kMagic.size() + 1;
  const BlockHeader header{static_cast<std::uint8_t>(token & 0xf0),
                           std::uint32_t{1} << (kSmallestLog + (token & 0x0f)), LoadU32Le(numbers),
                           LoadU32Le(numbers + 4), LoadU32Le(numbers + 8)};
  if (header.method != kStored && header.method != kCompressed) {
    return Damaged(kName, "expected a block with the method 0x10 or 0x20, found 0x",
                   HexText(header.method, 2));
  }
  const bool sizes_fit = header.method != kStored || header.stored_size == header.plain_size;
  if (!sizes_fit || header.plain_size > header.most) {
    return Damaged(kName, "expected a block of at most ", header.most, " plain bytes, found ",
                   header.plain_size, " plain bytes stored as ", header.stored_size);
  }
  if (header.stored_size > stream.size() - kHeaderSize) {
    return Damaged(kName, "the stream is cut short");
  }
  return header;
}

Result<ByteVector> DecodeStream(ByteSpan stream, std::uint64_t max_bytes) {
  ByteVector plain;
  for (;;) {
    UNSHARD_ASSIGN_OR_RETURN(const BlockHeader header, ParseHeader(stream));
    const ByteSpan block = stream.subspan(kHeaderSize, header.stored_size);
    stream = stream.subspan(kHeaderSize + header.stored_size);
    if (header.plain_size == 0) break;
    if (header.plain_size > max_bytes - plain.size()) return DecodesToMore(kName, max_bytes);
    plain.resize(plain.size() + header.plain_size);
    const std::span<std::uint8_t> part = std::span(plain).last(header.plain_size);
    if (header.method == kStored) {
      std::copy(block.begin(), block.end(), part.begin());
    } else if (!DecodeBlock(block, part.data(), part.size())) {
      return Damaged(kName, "a block does not decode to the ", header.plain_size,
                     " bytes that it announces");
    }
    if (const std::uint32_t sum = ChecksumOf(part); sum != header.checksum) {
      return Damaged(kName, "expected a block with the checksum ", HexText(sum, 8), ", found ",
                     HexText(header.checksum, 8));
    }
  }
  if (!stream.empty()) return Damaged(kName, "bytes follow the last block");
  return plain;
}

Result<ByteVector> DecodeAnyLz4(ByteSpan stored, std::uint64_t max_bytes) {
  if (AsText(stored).starts_with(kMagic)) return DecodeStream(stored, max_bytes);
  constexpr std::uint64_t kLargestGrowth = 255;
  const std::uint64_t most = std::min<std::uint64_t>(max_bytes, kLargestGrowth * stored.size());
  if (most < max_bytes) {
    return Damaged(kName, stored.size(), " compressed bytes are too few for a block of ", max_bytes,
                   " bytes");
  }
  ByteVector plain(std::max<std::uint64_t>(max_bytes, 1));
  plain.resize(max_bytes);
  const bool announces_size = stored.size() >= 4 && LoadU32Le(stored.data()) == max_bytes;
  if (announces_size && DecodeBlock(stored.subspan(4), plain.data(), plain.size())) return plain;
  if (DecodeBlock(stored, plain.data(), plain.size())) return plain;
  return Damaged(kName, "expected lz4-java's stream, numcodecs' form or a bare block of ",
                 max_bytes, " plain bytes");
}

void AppendHeader(ByteVector& to, std::uint8_t token, std::size_t stored_size, ByteSpan plain) {
  to.insert(to.end(), kMagic.begin(), kMagic.end());
  to.push_back(token);
  AppendU32Le(to, static_cast<std::uint32_t>(stored_size));
  AppendU32Le(to, static_cast<std::uint32_t>(plain.size()));
  AppendU32Le(to, plain.empty() ? 0 : ChecksumOf(plain));
}

ByteVector EncodeLz4Blocks(ByteSpan plain, unsigned block_size) {
  const auto log = static_cast<unsigned>(std::bit_width(block_size - 1));
  const auto level = static_cast<std::uint8_t>(std::max(log, kSmallestLog) - kSmallestLog);
  ByteVector stream;
  ByteVector block(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(block_size))));
  while (!plain.empty()) {
    const ByteSpan part = plain.first(std::min<std::size_t>(plain.size(), block_size));
    plain = plain.subspan(part.size());
    const int size = LZ4_compress_default(
        reinterpret_cast<const char*>(part.data()), reinterpret_cast<char*>(block.data()),
        static_cast<int>(part.size()), static_cast<int>(block.size()));
    const bool smaller = size > 0 && static_cast<std::size_t>(size) < part.size();
    const ByteSpan stored = smaller ? ByteSpan(block).first(static_cast<std::size_t>(size)) : part;
    const std::uint8_t method = smaller ? kCompressed : kStored;
    AppendHeader(stream, static_cast<std::uint8_t>(method | level), stored.size(), part);
    stream.insert(stream.end(), stored.begin(), stored.end());
  }
  AppendHeader(stream, static_cast<std::uint8_t>(kStored | level), 0, {});
  return stream;
}

Result<Encoder> MakeLz4BlocksEncoder(const CodecOptions& options, std::uint32_t /*item_size*/) {
  UNSHARD_ASSIGN_OR_RETURN(const int size, options.Integer("block_size"));
  return [size](ByteSpan plain) -> Result<ByteVector> {
    return EncodeLz4Blocks(plain, static_cast<unsigned>(size));
  };
}

constexpr CompressorFunctions kLz4Blocks = {DecodeAnyLz4, MakeLz4BlocksEncoder};

#else
constexpr CompressorFunctions kLz4Blocks = {};
#endif

}  // namespace

const CodecDefinition& Lz4BlocksCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{ArrayDialect::kN5, "lz4"}};
  static constexpr CodecOption::Spelling kBlockSize[] = {{ArrayDialect::kN5, 65536, "blockSize"}};
  static constexpr CodecOption kOptions[] = {{"block_size", 64, 1 << 25, 65536, kBlockSize}};
  static constexpr CodecDefinition kDefinition{kNames, &BindCompressor<Liblz4, kLz4Blocks>,
                                               kOptions, true};
  return kDefinition;
}

}  // namespace unshard
