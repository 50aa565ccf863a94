#include "codec/bytes_codec.h"

#include <zlib.h>

#include <array>
#include <string_view>
#include <utility>

#include "codec/crc32c.h"
#include "codec/decompress.h"
#include "codec/gzip.h"

namespace unshard {
namespace {

constexpr std::uint64_t kChecksumSize = 4;

// A compressor; its stream describes itself, so that the configuration does not matter here.
class Compressor final : public BytesCodec {
 public:
  using Decoder = Result<ByteVector> (*)(ByteSpan, std::uint64_t);
  Compressor(std::string name, Decoder decoder) : name_(std::move(name)), decoder_(decoder) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::optional<std::uint64_t> fixed_overhead() const override {
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t leading_overhead() const override { return 0; }
  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const override {
    return decoder_(stored, max_bytes);
  }

 private:
  const std::string name_;
  const Decoder decoder_;
};

// A checksum of 32 bits, little-endian, before or after the bytes that it protects.
class Checksum final : public BytesCodec {
 public:
  using Function = std::uint32_t (*)(ByteSpan);
  Checksum(std::string name, Function function, bool at_start)
      : name_(std::move(name)), function_(function), at_start_(at_start) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::optional<std::uint64_t> fixed_overhead() const override {
    return kChecksumSize;
  }
  [[nodiscard]] std::uint64_t leading_overhead() const override {
    return at_start_ ? kChecksumSize : 0;
  }
  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const override {
    if (stored.size() < kChecksumSize) {
      return Fail(ErrorCode::kDataLoss, name_ + ": expected a checksum of 4 bytes, found " +
                                            std::to_string(stored.size()) + " bytes in all");
    }
    const std::size_t plain_size = stored.size() - kChecksumSize;
    if (plain_size > max_bytes) {
      return Fail(ErrorCode::kResourceExhausted,
                  name_ + ": holds more than " + std::to_string(max_bytes) + " bytes");
    }
    const ByteSpan plain = stored.subspan(at_start_ ? kChecksumSize : 0, plain_size);
    const std::uint32_t expected = LoadU32Le(stored.data() + (at_start_ ? 0 : plain_size));
    if (function_(plain) != expected) {
      return Fail(ErrorCode::kDataLoss, name_ + ": the checksum does not match");
    }
    return ByteVector(plain.begin(), plain.end());
  }

 private:
  const std::string name_;
  const Function function_;
  const bool at_start_;
};

Result<ByteVector> DecodeGzip(ByteSpan stored, std::uint64_t max_bytes) {
  return GzipDecode(stored, max_bytes);
}

std::uint32_t Crc32(ByteSpan bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

std::uint32_t Adler32(ByteSpan bytes) {
  return static_cast<std::uint32_t>(adler32_z(1, bytes.data(), bytes.size()));
}

struct CompressorName {
  std::string_view name;
  Compressor::Decoder decoder;
};
constexpr std::array<CompressorName, 9> kCompressors = {{{"gzip", DecodeGzip},
                                                         {"zstd", ZstdDecode},
                                                         {"blosc", BloscDecode},
                                                         {"numcodecs.gzip", DecodeGzip},
                                                         {"numcodecs.zlib", ZlibDecode},
                                                         {"numcodecs.zstd", ZstdDecode},
                                                         {"numcodecs.blosc", BloscDecode},
                                                         {"numcodecs.bz2", Bzip2Decode},
                                                         {"numcodecs.lz4", Lz4Decode}}};

struct ChecksumName {
  std::string_view name;
  Checksum::Function function;
  bool at_start;      // unless the configuration says otherwise
  bool has_location;  // whether the configuration may say so
};
constexpr std::array<ChecksumName, 4> kChecksums = {{{"crc32c", Crc32c, false, false},
                                                     {"numcodecs.crc32c", Crc32c, false, true},
                                                     {"numcodecs.crc32", Crc32, true, true},
                                                     {"numcodecs.adler32", Adler32, true, true}}};

Result<std::shared_ptr<const BytesCodec>> MakeChecksum(const ChecksumName& checksum,
                                                       const JsonValue* configuration,
                                                       const std::string& json_path) {
  bool at_start = checksum.at_start;
  if (configuration != nullptr && checksum.has_location) {
    const JsonCursor cursor(*configuration, json_path + ".configuration");
    UNSHARD_ASSIGN_OR_RETURN(const auto locations, cursor.OptionalMember("location"));
    if (!locations.empty()) {
      UNSHARD_ASSIGN_OR_RETURN(const std::string location, locations.front().String());
      if (location != "start" && location != "end") {
        return locations.front().Expected("\"start\" or \"end\"");
      }
      at_start = location == "start";
    }
  }
  return std::make_shared<Checksum>(std::string(checksum.name), checksum.function, at_start);
}

}  // namespace

Result<std::shared_ptr<const BytesCodec>> MakeBytesCodec(const std::string& name,
                                                         const JsonValue* configuration,
                                                         const std::string& json_path) {
  if (configuration != nullptr && configuration->is_null()) configuration = nullptr;
  for (const CompressorName& compressor : kCompressors) {
    if (compressor.name == name) return std::make_shared<Compressor>(name, compressor.decoder);
  }
  for (const ChecksumName& checksum : kChecksums) {
    if (checksum.name == name) return MakeChecksum(checksum, configuration, json_path);
  }
  return std::shared_ptr<const BytesCodec>();
}

}  // namespace unshard
