#include "codec/compression/bytes_codec.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "codec/compression/decompress.h"
#include "codec/compression/encoder.h"
#include "codec/compression/gzip.h"
#include "codec/core/crc32c.h"

namespace unshard {
namespace {

constexpr std::uint64_t kChecksumSize = 4;

// A compressor. Its stream describes itself, so that the configuration matters to encoding alone,
// and one that cannot be followed does not stand in the way of reading.
class Compressor final : public BytesCodec {
 public:
  using Decoder = Result<ByteVector> (*)(ByteSpan, std::uint64_t);
  Compressor(std::string name, Decoder decoder, Result<Encoder> encoder)
      : name_(std::move(name)), decoder_(decoder), encoder_(std::move(encoder)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::optional<std::uint64_t> fixed_overhead() const override {
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t leading_overhead() const override { return 0; }
  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const override {
    return decoder_(stored, max_bytes);
  }
  [[nodiscard]] Status CanEncode() const override {
    if (encoder_) return {};
    return Fail(ErrorCode::kNotSupported,
                "the codec \"" + name_ + "\" cannot encode: " + encoder_.error().message);
  }
  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const override {
    UNSHARD_RETURN_IF_ERROR(CanEncode());
    return (*encoder_)(plain);
  }
  [[nodiscard]] std::unique_ptr<BytesDigest> MakeDigest() const override { return nullptr; }

 private:
  const std::string name_;
  const Decoder decoder_;
  const Result<Encoder> encoder_;
};

// A checksum of 32 bits that can be continued.
struct ChecksumFunction {
  std::uint32_t initial;  // of no bytes
  std::uint32_t (*extend)(std::uint32_t checksum, ByteSpan bytes);
};

class ChecksumDigest final : public BytesDigest {
 public:
  explicit ChecksumDigest(const ChecksumFunction& function)
      : function_(function), value_(function.initial) {}
  void Update(ByteSpan bytes) override { value_ = function_.extend(value_, bytes); }
  [[nodiscard]] ByteVector Finish() const override {
    ByteVector stored;
    AppendU32Le(stored, value_);
    return stored;
  }

 private:
  const ChecksumFunction function_;
  std::uint32_t value_;
};

// A checksum, little-endian, before or after the bytes that it protects.
class Checksum final : public BytesCodec {
 public:
  Checksum(std::string name, const ChecksumFunction& function, bool at_start)
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
    if (function_.extend(function_.initial, plain) != expected) {
      return Fail(ErrorCode::kDataLoss, name_ + ": the checksum does not match");
    }
    return ByteVector(plain.begin(), plain.end());
  }
  [[nodiscard]] Status CanEncode() const override { return {}; }
  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const override {
    ByteVector stored(plain.size() + kChecksumSize);
    std::copy(plain.begin(), plain.end(), stored.data() + (at_start_ ? kChecksumSize : 0));
    StoreU32Le(stored.data() + (at_start_ ? 0 : plain.size()),
               function_.extend(function_.initial, plain));
    return stored;
  }
  [[nodiscard]] std::unique_ptr<BytesDigest> MakeDigest() const override {
    return std::make_unique<ChecksumDigest>(function_);
  }

 private:
  const std::string name_;
  const ChecksumFunction function_;
  const bool at_start_;
};

Result<ByteVector> DecodeGzip(ByteSpan stored, std::uint64_t max_bytes) {
  return GzipDecode(stored, max_bytes);
}

// zlib takes a null pointer, which no bytes may have, for a request of the initial value.
std::uint32_t ExtendCrc32(std::uint32_t checksum, ByteSpan bytes) {
  if (bytes.empty()) return checksum;
  return static_cast<std::uint32_t>(crc32_z(checksum, bytes.data(), bytes.size()));
}

std::uint32_t ExtendAdler32(std::uint32_t checksum, ByteSpan bytes) {
  if (bytes.empty()) return checksum;
  return static_cast<std::uint32_t>(adler32_z(checksum, bytes.data(), bytes.size()));
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

constexpr ChecksumFunction kCrc32c{0, Crc32cExtend};
constexpr ChecksumFunction kCrc32{0, ExtendCrc32};
constexpr ChecksumFunction kAdler32{1, ExtendAdler32};

struct ChecksumName {
  std::string_view name;
  ChecksumFunction function;
  bool at_start;      // unless the configuration says otherwise
  bool has_location;  // whether the configuration may say so
};
constexpr std::array<ChecksumName, 4> kChecksums = {{{"crc32c", kCrc32c, false, false},
                                                     {"numcodecs.crc32c", kCrc32c, false, true},
                                                     {"numcodecs.crc32", kCrc32, true, true},
                                                     {"numcodecs.adler32", kAdler32, true, true}}};

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
    if (compressor.name != name) continue;
    return std::make_shared<Compressor>(name, compressor.decoder,
                                        MakeEncoder(name, configuration, json_path));
  }
  for (const ChecksumName& checksum : kChecksums) {
    if (checksum.name == name) return MakeChecksum(checksum, configuration, json_path);
  }
  return std::shared_ptr<const BytesCodec>();
}

}  // namespace unshard
