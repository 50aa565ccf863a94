// LZ4 in two forms.
//
// numcodecs': the plain size as u32 little-endian, then one LZ4 block.
//
// N5's. Written: the stream of lz4-java, blocks with a header and a checksum, and an empty one at
// the end. Read: also numcodecs' form, and the bare block that z5 writes; these two only where the
// plain size is exactly `max_bytes`, because a bare block does not say how long its plain bytes
// are.
#ifdef UNSHARD_LZ4
#include <lz4.h>
#include <xxhash.h>
#endif

#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"
#include "codec/core/text.h"

namespace unshard {
namespace {

#ifdef UNSHARD_LZ4

// --- One block

constexpr std::uint64_t kMaxGrowth = 255;  // of a block that is decoded
constexpr int kUsualAcceleration = 1;

// Decodes one LZ4 block to exactly `size` bytes at `at`.
bool DecodeBlock(ByteSpan block, std::uint8_t* at, std::size_t size) {
  if (block.size() > LZ4_MAX_INPUT_SIZE || size > LZ4_MAX_INPUT_SIZE) return false;
  const int decoded =
      LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(at),
                          static_cast<int>(block.size()), static_cast<int>(size));
  return decoded >= 0 && static_cast<std::size_t>(decoded) == size;
}

// The most bytes that EncodeBlock needs. Requires, as that does: at most LZ4_MAX_INPUT_SIZE bytes.
std::size_t BoundOf(std::size_t plain_size) {
  return static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(plain_size)));
}

// The bytes that it takes of `room`; 0: it failed.
std::size_t EncodeBlock(ByteSpan plain, int acceleration, std::span<std::uint8_t> room) {
  const int size = LZ4_compress_fast(
      reinterpret_cast<const char*>(plain.data()), reinterpret_cast<char*>(room.data()),
      static_cast<int>(plain.size()), static_cast<int>(room.size()), acceleration);
  return static_cast<std::size_t>(std::max(size, 0));
}

// --- numcodecs' form

Result<ByteVector> DecodeLz4(ByteSpan stored, std::uint64_t max_bytes) {
  if (stored.size() < 4 || stored.size() - 4 > LZ4_MAX_INPUT_SIZE) {
    return Damaged("lz4", "expected a size of 4 bytes and one block");
  }
  const std::uint32_t plain_size = LoadU32Le(stored.data());
  const ByteSpan block = stored.subspan(4);
  if (plain_size > LZ4_MAX_INPUT_SIZE || plain_size > kMaxGrowth * block.size()) {
    return Damaged("lz4", "the block cannot decode to the ", plain_size,
                   " bytes that it announces");
  }
  if (plain_size > max_bytes) return DecodesToMore("lz4", max_bytes);
  ByteVector plain(std::max<std::size_t>(plain_size, 1));
  if (!DecodeBlock(block, plain.data(), plain_size)) {
    return Damaged("lz4", "the block does not decode to the ", plain_size,
                   " bytes that it announces");
  }
  plain.resize(plain_size);
  return plain;
}

Result<ByteVector> EncodeLz4(ByteSpan plain, int acceleration) {
  if (plain.size() > LZ4_MAX_INPUT_SIZE) return TooLargeToEncode("lz4", LZ4_MAX_INPUT_SIZE);
  ByteVector stored(4 + BoundOf(plain.size()));
  StoreU32Le(stored.data(), static_cast<std::uint32_t>(plain.size()));
  const std::size_t size = EncodeBlock(plain, acceleration, std::span(stored).subspan(4));
  if (size == 0) return NoMemory("lz4");
  stored.resize(4 + size);
  return stored;
}

Result<Encoder> MakeLz4Encoder(const CodecOptions& options, std::uint32_t /*item_size*/) {
  UNSHARD_ASSIGN_OR_RETURN(const int acceleration, options.Integer("acceleration"));
  return [acceleration](ByteSpan plain) { return EncodeLz4(plain, acceleration); };
}

// --- N5's form

constexpr std::string_view kMagic = "LZ4Block";
constexpr std::size_t kHeaderSize = 21;
constexpr std::uint8_t kStored = 0x10;
constexpr std::uint8_t kCompressed = 0x20;
constexpr unsigned kMinLog = 10;  // level n in the token: blocks of at most 2^(10 + n) bytes
constexpr XXH32_hash_t kSeed = 0x9747b28c;
constexpr std::uint32_t kChecksumBits = 0x0fffffff;  // lz4-java stores 28 of the 32

std::uint32_t ChecksumOf(ByteSpan plain) {
  return XXH32(plain.data(), plain.size(), kSeed) & kChecksumBits;
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
    return Damaged("lz4", "expected a block that begins with \"LZ4Block\"");
  }
  const std::uint8_t token = stream[kMagic.size()];
  const std::uint8_t* const numbers = stream.data() + kMagic.size() + 1;
  const BlockHeader header{static_cast<std::uint8_t>(token & 0xf0),
                           std::uint32_t{1} << (kMinLog + (token & 0x0f)), LoadU32Le(numbers),
                           LoadU32Le(numbers + 4), LoadU32Le(numbers + 8)};
  if (header.method != kStored && header.method != kCompressed) {
    return Damaged("lz4", "expected a block with the method 0x10 or 0x20, found 0x",
                   HexText(header.method, 2));
  }
  const bool sizes_fit = header.method != kStored || header.stored_size == header.plain_size;
  if (!sizes_fit || header.plain_size > header.most) {
    return Damaged("lz4", "expected a block of at most ", header.most, " plain bytes, found ",
                   header.plain_size, " plain bytes stored as ", header.stored_size);
  }
  if (header.stored_size > stream.size() - kHeaderSize) {
    return Damaged("lz4", "the stream is cut short");
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
    if (header.plain_size > max_bytes - plain.size()) return DecodesToMore("lz4", max_bytes);
    plain.resize(plain.size() + header.plain_size);
    const std::span<std::uint8_t> part = std::span(plain).last(header.plain_size);
    if (header.method == kStored) {
      std::copy(block.begin(), block.end(), part.begin());
    } else if (!DecodeBlock(block, part.data(), part.size())) {
      return Damaged("lz4", "a block does not decode to the ", header.plain_size,
                     " bytes that it announces");
    }
    if (const std::uint32_t sum = ChecksumOf(part); sum != header.checksum) {
      return Damaged("lz4", "expected a block with the checksum ", HexText(sum, 8), ", found ",
                     HexText(header.checksum, 8));
    }
  }
  if (!stream.empty()) return Damaged("lz4", "bytes follow the last block");
  return plain;
}

Result<ByteVector> DecodeAnyLz4(ByteSpan stored, std::uint64_t max_bytes) {
  if (AsText(stored).starts_with(kMagic)) return DecodeStream(stored, max_bytes);
  if (max_bytes > kMaxGrowth * stored.size()) {
    return Damaged("lz4", stored.size(), " compressed bytes are too few for a block of ", max_bytes,
                   " bytes");
  }
  ByteVector plain(std::max<std::uint64_t>(max_bytes, 1));
  plain.resize(max_bytes);
  const bool announces_size = stored.size() >= 4 && LoadU32Le(stored.data()) == max_bytes;
  if (announces_size && DecodeBlock(stored.subspan(4), plain.data(), plain.size())) return plain;
  if (DecodeBlock(stored, plain.data(), plain.size())) return plain;
  return Damaged("lz4", "expected lz4-java's stream, numcodecs' form or a bare block of ",
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
  const auto level = static_cast<std::uint8_t>(std::max(log, kMinLog) - kMinLog);
  ByteVector stream;
  ByteVector block(BoundOf(block_size));
  while (!plain.empty()) {
    const ByteSpan part = plain.first(std::min<std::size_t>(plain.size(), block_size));
    plain = plain.subspan(part.size());
    const std::size_t size = EncodeBlock(part, kUsualAcceleration, block);
    const bool smaller = size > 0 && size < part.size();
    const ByteSpan stored = smaller ? ByteSpan(block).first(size) : part;
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

std::string Lz4Version() { return LZ4_versionString(); }

constexpr LibraryCompressor kLz4 = {{"lz4", "liblz4", Lz4Version}, DecodeLz4, MakeLz4Encoder};
constexpr LibraryCompressor kLz4Blocks = {kLz4.library, DecodeAnyLz4, MakeLz4BlocksEncoder};

#else
constexpr LibraryCompressor kLz4 = {{"lz4", "liblz4"}};
constexpr LibraryCompressor kLz4Blocks = kLz4;
#endif

}  // namespace

const Library& Liblz4() { return kLz4.library; }

const CodecDefinition& Lz4Codec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "lz4"}};
  constexpr std::int64_t kMaxAcceleration = std::numeric_limits<int>::max();
  static constexpr CodecOption kOptions[] = {
      {"acceleration", -kMaxAcceleration, kMaxAcceleration, 1}};
  static constexpr CodecDefinition kDefinition{kNames, &BindCompressor<kLz4>, kOptions, true};
  return kDefinition;
}

const CodecDefinition& Lz4BlocksCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kN5, "lz4"}};
  static constexpr CodecOption::Spelling kBlockSize[] = {{Dialect::kN5, 65536, "blockSize"}};
  static constexpr CodecOption kOptions[] = {{"block_size", 64, 1 << 25, 65536, kBlockSize}};
  static constexpr CodecDefinition kDefinition{kNames, &BindCompressor<kLz4Blocks>, kOptions, true};
  return kDefinition;
}

}  // namespace unshard
