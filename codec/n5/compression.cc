#include "codec/n5/compression.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "codec/compression/blosc.h"
#include "codec/compression/bzip2.h"
#include "codec/compression/gzip.h"
#include "codec/compression/lz4_blocks.h"
#include "codec/compression/lzma.h"
#include "codec/compression/zstd.h"

namespace unshard {
namespace {

// A type of compression, its codec, and the names of its one option in N5 and in the codec.
struct KnownCompression {
  std::string_view type;
  const char* codec;  // its name in ChunkEncoding
  MakeCodec* make;
  const char* n5_member;
  const char* member;
  int absent;  // N5's default
};
constexpr std::array<KnownCompression, 5> kCompressions = {
    {{"bzip2", "numcodecs.bz2", MakeBzip2, "blockSize", "level", 9},
     {"gzip", "gzip", MakeGzip, "level", "level", -1},
     {"lz4", "n5.lz4", MakeLz4Blocks, "blockSize", "block_size", 65536},
     {"xz", "numcodecs.lzma", MakeLzma, "preset", "preset", 6},
     {"zstd", "zstd", MakeZstd, "level", "level", 3}}};
constexpr int kLargest = 1 << 30;
constexpr int kZlibDefault = 6;  // the level that -1 means

Result<int> IntegerOr(const JsonCursor& owner, std::string_view key, int absent) {
  UNSHARD_ASSIGN_OR_RETURN(const auto found, owner.OptionalMember(key));
  if (found.empty()) return absent;
  UNSHARD_ASSIGN_OR_RETURN(const std::int64_t value, found.front().Integer(-kLargest, kLargest));
  return static_cast<int>(value);
}

Result<bool> UsesZlib(const JsonCursor& compression) {
  UNSHARD_ASSIGN_OR_RETURN(const auto found, compression.OptionalMember("useZlib"));
  return found.empty() ? Result<bool>(false) : found.front().Boolean();
}

// `configuration`: as the codec has it, for the step.
Result<std::vector<BytesStep>> MakeStep(const char* codec, MakeCodec* make,
                                        const CodecOptions& options, JsonValue configuration) {
  UNSHARD_ASSIGN_OR_RETURN(auto made, make(codec, options));
  std::vector<BytesStep> steps;
  steps.push_back({std::move(made), std::move(configuration)});
  return steps;
}

// The members of blosc are those of Zarr. The size of the items that it shuffles is known: N5 may
// leave `typesize` out.
Result<std::vector<BytesStep>> BloscSteps(const JsonCursor& compression, std::uint32_t item_size) {
  JsonValue configuration = JsonValue::Object();
  for (const char* key : {"cname", "clevel", "shuffle", "blocksize", "typesize"}) {
    if (const JsonValue* member = compression.value().Find(key)) configuration.Set(key, *member);
  }
  configuration.Set("typesize", JsonValue::Number(std::uint64_t{item_size}));
  const JsonValue given = configuration;
  return MakeStep("blosc", MakeBlosc, CodecOptions(&given, compression.path()),
                  std::move(configuration));
}

}  // namespace

Result<std::vector<BytesStep>> ParseN5Compression(const JsonCursor& compression,
                                                  std::uint32_t item_size) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor type_cursor, compression.Member("type"));
  UNSHARD_ASSIGN_OR_RETURN(const std::string type, type_cursor.String());
  if (type == "raw") return std::vector<BytesStep>();
  if (type == "blosc") return BloscSteps(compression, item_size);
  for (const KnownCompression& known : kCompressions) {
    if (known.type != type) continue;
    UNSHARD_ASSIGN_OR_RETURN(int value, IntegerOr(compression, known.n5_member, known.absent));
    if (type == "gzip" && value == -1) value = kZlibDefault;
    const JsonValue number = JsonValue::Number(std::to_string(value));
    const JsonValue given = JsonValue::Object({{known.n5_member, number}});
    const CodecOptions options(&given, compression.path(), known.member, known.n5_member);
    JsonValue configuration = JsonValue::Object({{known.member, number}});
    UNSHARD_ASSIGN_OR_RETURN(const bool zlib, UsesZlib(compression));
    return type == "gzip" && zlib
               ? MakeStep("numcodecs.zlib", MakeZlib, options, std::move(configuration))
               : MakeStep(known.codec, known.make, options, std::move(configuration));
  }
  return Fail(ErrorCode::kNotSupported,
              type_cursor.path() + ": unsupported compression \"" + type +
                  "\"; expected raw, gzip, bzip2, xz, lz4, blosc or zstd");
}

}  // namespace unshard
