#include "codec/compression/encoder.h"

#include <array>
#include <limits>
#include <utility>

#include "codec/compression/compress.h"
#include "codec/compression/gzip.h"

namespace unshard {
namespace {

constexpr int kLargest = std::numeric_limits<int>::max();

// The configuration of one codec; every member may be absent.
class Options {
 public:
  Options(const JsonValue* configuration, const std::string& json_path)
      : configuration_(configuration), path_(json_path + ".configuration") {}

  [[nodiscard]] Result<int> Integer(std::string_view key, int absent, int min, int max) const {
    UNSHARD_ASSIGN_OR_RETURN(const auto members, Find(key));
    if (members.empty()) return absent;
    UNSHARD_ASSIGN_OR_RETURN(const std::int64_t value, members.front().Integer(min, max));
    return static_cast<int>(value);
  }
  [[nodiscard]] Result<bool> Boolean(std::string_view key) const {
    UNSHARD_ASSIGN_OR_RETURN(const auto members, Find(key));
    return members.empty() ? Result<bool>(false) : members.front().Boolean();
  }
  // Nothing, or one member.
  [[nodiscard]] Result<std::vector<JsonCursor>> Find(std::string_view key) const {
    if (configuration_ == nullptr) return std::vector<JsonCursor>();
    return JsonCursor(*configuration_, path_).OptionalMember(key);
  }

 private:
  const JsonValue* const configuration_;
  const std::string path_;
};

Result<Encoder> MakeGzip(const Options& options, int level_if_absent) {
  UNSHARD_ASSIGN_OR_RETURN(const int level, options.Integer("level", level_if_absent, 0, 9));
  return [level](ByteSpan plain) -> Result<ByteVector> { return GzipEncode(plain, level); };
}
Result<Encoder> MakeZarrGzip(const Options& options) { return MakeGzip(options, 6); }
Result<Encoder> MakeNumcodecsGzip(const Options& options) { return MakeGzip(options, 1); }

Result<Encoder> MakeZlib(const Options& options) {
  UNSHARD_ASSIGN_OR_RETURN(const int level, options.Integer("level", 1, 0, 9));
  return [level](ByteSpan plain) { return ZlibEncode(plain, level); };
}

Result<Encoder> MakeZstd(const Options& options) {
  UNSHARD_ASSIGN_OR_RETURN(const int level, options.Integer("level", 0, -131072, 22));
  UNSHARD_ASSIGN_OR_RETURN(const bool checksum, options.Boolean("checksum"));
  return [level, checksum](ByteSpan plain) { return ZstdEncode(plain, level, checksum); };
}

Result<Encoder> MakeBzip2(const Options& options) {
  UNSHARD_ASSIGN_OR_RETURN(const int level, options.Integer("level", 1, 1, 9));
  return [level](ByteSpan plain) { return Bzip2Encode(plain, level); };
}

Result<Encoder> MakeLz4(const Options& options) {
  UNSHARD_ASSIGN_OR_RETURN(const int acceleration,
                           options.Integer("acceleration", 1, -kLargest, kLargest));
  return [acceleration](ByteSpan plain) { return Lz4Encode(plain, acceleration); };
}

// Zarr's codec names the shuffle, numcodecs numbers it. What stands around a shard has elements of
// one byte unless it says otherwise; numcodecs' automatic shuffle (-1) shuffles bits of those.
Result<BloscOptions::Shuffle> ParseShuffle(const JsonCursor& shuffle, std::uint64_t element_size) {
  using Shuffle = BloscOptions::Shuffle;
  constexpr std::array<std::pair<std::string_view, Shuffle>, 3> kNames{
      {{"noshuffle", Shuffle::kNone},
       {"shuffle", Shuffle::kBytes},
       {"bitshuffle", Shuffle::kBits}}};
  if (const auto name = shuffle.String()) {
    for (const auto& [known, value] : kNames) {
      if (known == *name) return value;
    }
    return shuffle.Expected("\"noshuffle\", \"shuffle\" or \"bitshuffle\"");
  }
  UNSHARD_ASSIGN_OR_RETURN(const std::int64_t number, shuffle.Integer(-1, 2));
  if (number == -1) return element_size == 1 ? Shuffle::kBits : Shuffle::kBytes;
  return static_cast<Shuffle>(number);
}

Result<Encoder> MakeBlosc(const Options& options) {
  BloscOptions blosc;
  UNSHARD_ASSIGN_OR_RETURN(const auto compressors, options.Find("cname"));
  if (!compressors.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(blosc.compressor, compressors.front().String());
    if (!BloscCanEncode(blosc)) {
      return compressors.front().Expected("a compressor that this Blosc library has");
    }
  }
  UNSHARD_ASSIGN_OR_RETURN(blosc.level, options.Integer("clevel", 5, 0, 9));
  UNSHARD_ASSIGN_OR_RETURN(const int element_size, options.Integer("typesize", 1, 1, kLargest));
  blosc.element_size = static_cast<std::uint64_t>(element_size);
  UNSHARD_ASSIGN_OR_RETURN(const auto shuffles, options.Find("shuffle"));
  if (!shuffles.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(blosc.shuffle, ParseShuffle(shuffles.front(), blosc.element_size));
  }
  UNSHARD_ASSIGN_OR_RETURN(const int block_size, options.Integer("blocksize", 0, 0, kLargest));
  blosc.block_size = static_cast<std::uint64_t>(block_size);
  return [blosc](ByteSpan plain) { return BloscEncode(plain, blosc); };
}

struct EncoderName {
  std::string_view name;
  Result<Encoder> (*make)(const Options&);
};
constexpr std::array<EncoderName, 9> kEncoders = {{{"gzip", MakeZarrGzip},
                                                   {"zstd", MakeZstd},
                                                   {"blosc", MakeBlosc},
                                                   {"numcodecs.gzip", MakeNumcodecsGzip},
                                                   {"numcodecs.zlib", MakeZlib},
                                                   {"numcodecs.zstd", MakeZstd},
                                                   {"numcodecs.blosc", MakeBlosc},
                                                   {"numcodecs.bz2", MakeBzip2},
                                                   {"numcodecs.lz4", MakeLz4}}};

}  // namespace

Result<Encoder> MakeEncoder(std::string_view name, const JsonValue* configuration,
                            const std::string& json_path) {
  for (const EncoderName& encoder : kEncoders) {
    if (encoder.name == name) return encoder.make(Options(configuration, json_path));
  }
  return Fail(ErrorCode::kNotSupported, std::string(name) + ": has no encoder here");
}

}  // namespace unshard
