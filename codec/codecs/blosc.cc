// Blosc: one Blosc 1 buffer.
#ifdef UNSHARD_BLOSC
#include <blosc.h>
#endif

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"

namespace unshard {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();
// In the order of the library's numbers.
constexpr std::string_view kShuffles[] = {"noshuffle", "shuffle", "bitshuffle"};

#ifdef UNSHARD_BLOSC

// The buffer that the bytes begin with, by the size in its header. As other readers do, zeros
// behind it are left out: z5 wrote 16 of them until 2021.
ByteSpan WithoutZerosBehind(ByteSpan stored) {
  if (stored.size() < BLOSC_MIN_HEADER_LENGTH) return stored;
  constexpr std::size_t kSizeAt = 12;
  const std::uint32_t size = LoadU32Le(stored.data() + kSizeAt);
  if (size >= stored.size()) return stored;
  const ByteSpan behind = stored.subspan(size);
  const bool zeros = std::all_of(behind.begin(), behind.end(), [](auto byte) { return byte == 0; });
  return zeros ? stored.first(size) : stored;
}

Result<ByteVector> DecodeBlosc(ByteSpan stored, std::uint64_t max_bytes) {
  stored = WithoutZerosBehind(stored);
  std::size_t plain_size = 0;
  if (stored.size() < BLOSC_MIN_HEADER_LENGTH ||
      blosc_cbuffer_validate(stored.data(), stored.size(), &plain_size) != 0) {
    return Damaged("blosc", "expected the header of a Blosc buffer of ", stored.size(), " bytes");
  }
  if (plain_size > max_bytes) return DecodesToMore("blosc", max_bytes);
  ByteVector plain(plain_size);
  if (plain_size == 0) return plain;
  const int decoded =
      blosc_decompress_ctx(stored.data(), plain.data(), plain.size(), /*numinternalthreads=*/1);
  if (decoded < 0 || static_cast<std::size_t>(decoded) != plain_size) {
    return Damaged("blosc", "the buffer does not decode to the ", plain_size,
                   " bytes that it announces");
  }
  return plain;
}

struct BloscOptions {
  std::string compressor = "lz4";
  int level = 5;  // 0..9
  enum class Shuffle { kNone = 0, kBytes = 1, kBits = 2 };
  Shuffle shuffle = Shuffle::kBytes;
  std::uint64_t element_size = 1;  // of what is shuffled
  std::uint64_t block_size = 0;    // 0: the library chooses
};

Result<ByteVector> EncodeBlosc(ByteSpan plain, const BloscOptions& options) {
  if (plain.size() > BLOSC_MAX_BUFFERSIZE) return TooLargeToEncode("blosc", BLOSC_MAX_BUFFERSIZE);
  ByteVector stored(plain.size() + BLOSC_MAX_OVERHEAD);
  const int size =
      blosc_compress_ctx(options.level, static_cast<int>(options.shuffle), options.element_size,
                         plain.size(), plain.data(), stored.data(), stored.size(),
                         options.compressor.c_str(), options.block_size, /*numinternalthreads=*/1);
  if (size <= 0) {
    return Fail(ErrorCode::kResourceExhausted, "blosc: out of memory, or built without ",
                options.compressor);
  }
  stored.resize(static_cast<std::size_t>(size));
  return stored;
}

// Zarr's codec has names for the shuffle, numcodecs numbers. numcodecs' automatic shuffle (-1) is
// by bits for elements of one byte, which a shard consists of unless `typesize` says otherwise.
Result<BloscOptions::Shuffle> ParseShuffle(const JsonCursor& shuffle, std::uint64_t element_size) {
  using Shuffle = BloscOptions::Shuffle;
  if (const auto name = shuffle.String()) {
    const auto* const known = std::find(std::begin(kShuffles), std::end(kShuffles), *name);
    if (known != std::end(kShuffles)) return static_cast<Shuffle>(known - kShuffles);
    return shuffle.Expected("\"noshuffle\", \"shuffle\" or \"bitshuffle\"");
  }
  UNSHARD_ASSIGN_OR_RETURN(const std::int64_t number, shuffle.Integer(-1, 2));
  if (number == -1) return element_size == 1 ? Shuffle::kBits : Shuffle::kBytes;
  return static_cast<Shuffle>(number);
}

// `typesize` may be absent: TensorStore and numcodecs then encode with the size of the items.
Result<Encoder> MakeBloscEncoder(const CodecOptions& options, std::uint32_t item_size) {
  BloscOptions blosc;
  UNSHARD_ASSIGN_OR_RETURN(const auto compressors, options.Find("cname"));
  if (compressors) {
    UNSHARD_ASSIGN_OR_RETURN(blosc.compressor, compressors->String());
    if (blosc_compname_to_compcode(blosc.compressor.c_str()) < 0) {
      return compressors->Expected("a compressor that this Blosc library has");
    }
  }
  UNSHARD_ASSIGN_OR_RETURN(blosc.level, options.Integer("clevel"));
  UNSHARD_ASSIGN_OR_RETURN(
      const int element_size,
      options.Integer("typesize", std::max(static_cast<int>(item_size), 1), 1, kMaxInt));
  blosc.element_size = static_cast<std::uint64_t>(element_size);
  UNSHARD_ASSIGN_OR_RETURN(const auto shuffles, options.Find("shuffle"));
  if (shuffles) {
    UNSHARD_ASSIGN_OR_RETURN(blosc.shuffle, ParseShuffle(*shuffles, blosc.element_size));
  }
  UNSHARD_ASSIGN_OR_RETURN(const int block_size, options.Integer("blocksize"));
  blosc.block_size = static_cast<std::uint64_t>(block_size);
  return [blosc](ByteSpan plain) { return EncodeBlosc(plain, blosc); };
}

std::string BloscVersion() { return blosc_get_version_string(); }

constexpr LibraryCompressor kBlosc = {
    {"blosc", "libblosc", BloscVersion}, DecodeBlosc, MakeBloscEncoder};

#else
constexpr LibraryCompressor kBlosc = {{"blosc", "libblosc"}};
#endif

}  // namespace

const Library& Libblosc() { return kBlosc.library; }

const CodecDefinition& BloscCodec() {
  using Spelling = CodecOption::Spelling;
  constexpr Dialect kN5 = Dialect::kN5, kZarr2 = Dialect::kZarr2, kZarr3 = Dialect::kZarr3;
  static constexpr CodecDefinition::Name kNames[] = {
      {kZarr3, "blosc", kInSchemas}, {kZarr2, "blosc", kInSchemas}, {kN5, "blosc", kInSchemas}};
  static constexpr std::string_view kCompressors[] = {"blosclz", "lz4",  "lz4hc",
                                                      "snappy",  "zlib", "zstd"};
  static constexpr Spelling kCompressor[] = {{.dialect = kN5, .created = 1, .has_default = false}};
  static constexpr Spelling kLevel[] = {
      {.dialect = kN5, .absent = 5, .created = 5, .has_default = false}};
  static constexpr Spelling kShuffle[] = {{.dialect = kZarr3, .has_default = false},
                                          {.dialect = kZarr2, .absent = -1, .min = -1},
                                          {.dialect = kN5, .has_default = false}};
  static constexpr Spelling kTypeSize[] = {{.dialect = kZarr3, .has_default = false}};
  static constexpr CodecOption kOptions[] = {
      {.name = "cname", .absent = 1, .spellings = kCompressor, .words = kCompressors},
      {.name = "clevel", .max = 9, .absent = 5, .spellings = kLevel, .is_level = true},
      {.name = "shuffle",
       .spellings = kShuffle,
       .words = kShuffles,
       .max_in_schemas = 2,
       .for_items = [](std::uint32_t item_size) -> std::int64_t {
         return item_size == 0 ? 0 : item_size == 1 ? 2 : 1;
       }},
      {.name = "typesize",
       .min = 1,
       .spellings = kTypeSize,
       .max_in_schemas = 255,
       .only_in = kZarr3,
       .is_item_size = true,
       .is_used =
           [](const JsonValue& options, std::uint32_t /*item_size*/) {
             return TextOf(options, "shuffle") != kShuffles[0];
           }},
      {.name = "blocksize", .max = kMaxInt, .max_in_schemas = 715827542}};
  static constexpr CodecDefinition kDefinition{kNames, &BindCompressor<kBlosc>, kOptions, true};
  return kDefinition;
}

}  // namespace unshard
