#include "codec/codecs/checksum.h"

#include <algorithm>
#include <utility>

#include "codec/codecs/codecs.h"
#include "codec/codecs/deflate.h"
#include "codec/core/crc32c.h"
#include "codec/core/text.h"

namespace unshard {
namespace {

constexpr std::uint64_t kChecksumSize = 4;

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

class Checksum final : public BytesToBytesCodec {
 public:
  Checksum(std::string name, DigestFactory digest, bool at_start)
      : name_(std::move(name)), digest_(std::move(digest)), at_start_(at_start) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::optional<std::uint64_t> fixed_overhead() const override {
    return kChecksumSize;
  }
  [[nodiscard]] std::uint64_t leading_overhead() const override {
    return at_start_ ? kChecksumSize : 0;
  }
  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const override {
    if (stored.size() < kChecksumSize) {
      return Fail(ErrorCode::kDataLoss, name_,
                  ": too short for a checksum of 4 bytes: ", stored.size(), " bytes in all");
    }
    const std::size_t plain_size = stored.size() - kChecksumSize;
    if (plain_size > max_bytes) {
      return Fail(ErrorCode::kResourceExhausted, name_, ": holds more than ", max_bytes, " bytes");
    }
    const ByteSpan plain = stored.subspan(at_start_ ? kChecksumSize : 0, plain_size);
    const ByteSpan found = stored.subspan(at_start_ ? 0 : plain_size, kChecksumSize);
    const ByteVector expected = SumOf(plain);
    if (!std::equal(expected.begin(), expected.end(), found.begin(), found.end())) {
      return Fail(ErrorCode::kDataLoss, name_, ": the data has the checksum ", HexText(expected),
                  ", but the stored checksum is ", HexText(found));
    }
    return ByteVector(plain.begin(), plain.end());
  }
  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const override {
    ByteVector stored(plain.size() + kChecksumSize);
    const ByteVector sum = SumOf(plain);
    std::copy(plain.begin(), plain.end(), stored.data() + (at_start_ ? kChecksumSize : 0));
    std::copy(sum.begin(), sum.end(), stored.data() + (at_start_ ? 0 : plain.size()));
    return stored;
  }
  [[nodiscard]] std::unique_ptr<BytesDigest> MakeDigest() const override { return digest_(); }

 private:
  [[nodiscard]] ByteVector SumOf(ByteSpan plain) const {
    const auto digest = digest_();
    digest->Update(plain);
    return digest->Finish();
  }

  const std::string name_;
  const DigestFactory digest_;
  const bool at_start_;
};

DigestFactory DigestOf(const ChecksumFunction& function) {
  return [function] { return std::make_unique<ChecksumDigest>(function); };
}

// Zarr's crc32c follows the bytes. The numcodecs forms have a `location`, "start" or "end"; where
// it is absent, crc32c follows the bytes, and crc32 and adler32 precede them.
Result<BytesCodecPtr> MakeWithLocation(const CodecSpec& spec, const ChecksumFunction& function,
                                       bool at_start) {
  UNSHARD_ASSIGN_OR_RETURN(const auto locations, spec.options().Find("location"));
  if (!locations.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(const std::string location, locations.front().String());
    if (location != "start" && location != "end") {
      return locations.front().Expected("\"start\" or \"end\"");
    }
    at_start = location == "start";
  }
  return std::make_shared<Checksum>(spec.name, DigestOf(function), at_start);
}

Result<BytesCodecPtr> BindCrc32c(const CodecSpec& spec, std::uint32_t /*item_size*/) {
  constexpr ChecksumFunction kCrc32c{0, Crc32cExtend};
  if (spec.name == "crc32c") return MakeChecksumAtEnd(spec.name, DigestOf(kCrc32c));
  return MakeWithLocation(spec, kCrc32c, /*at_start=*/false);
}

Result<BytesCodecPtr> BindCrc32(const CodecSpec& spec, std::uint32_t /*item_size*/) {
  return MakeWithLocation(spec, {0, DeflateInUse().crc32}, /*at_start=*/true);
}

Result<BytesCodecPtr> BindAdler32(const CodecSpec& spec, std::uint32_t /*item_size*/) {
  return MakeWithLocation(spec, {1, DeflateInUse().adler32}, /*at_start=*/true);
}

}  // namespace

BytesCodecPtr MakeChecksumAtEnd(const std::string& name, DigestFactory digest) {
  return std::make_shared<Checksum>(name, std::move(digest), /*at_start=*/false);
}

const CodecDefinition& Crc32cCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{ArrayDialect::kZarr3, "crc32c", kInSchemas},
                                                     {ArrayDialect::kZarr2, "crc32c"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindCrc32c};
  return kDefinition;
}

const CodecDefinition& Crc32Codec() {
  static constexpr CodecDefinition::Name kNames[] = {{ArrayDialect::kZarr2, "crc32"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindCrc32};
  return kDefinition;
}

const CodecDefinition& Adler32Codec() {
  static constexpr CodecDefinition::Name kNames[] = {{ArrayDialect::kZarr2, "adler32"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindAdler32};
  return kDefinition;
}

}  // namespace unshard
