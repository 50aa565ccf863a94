// Checksums of 32 bits as codecs, little-endian, before or after the bytes that they protect.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "codec/chain/codec_spec.h"
#include "codec/codecs/codecs.h"
#include "codec/codecs/deflate.h"
#include "codec/core/bytes_digest.h"
#include "codec/core/crc32c.h"
#include "codec/core/text.h"

namespace unshard {
namespace {

constexpr std::uint64_t kChecksumSize = 4;

// A checksum that is `initial` for no bytes, and that `extend` continues.
template <std::uint32_t initial, auto extend>
class RunningDigest final : public BytesDigest {
 public:
  void Update(ByteSpan bytes) override { value_ = extend(value_, bytes); }
  [[nodiscard]] ByteVector Finish() const override {
    ByteVector stored;
    AppendU32Le(stored, value_);
    return stored;
  }

 private:
  std::uint32_t value_ = initial;
};

// Fletcher's checksum as HDF5 and numcodecs compute it: over big-endian words of 16 bits.
class Fletcher32Digest final : public BytesDigest {
 public:
  void Update(ByteSpan bytes) override {
    for (const std::uint8_t byte : bytes) {
      has_half_ = !has_half_;
      if (has_half_) {
        half_ = byte;
        continue;
      }
      Add(sums_, half_ << 8 | byte);
      if (++words_ < kWordsInBlock) continue;
      Reduce(sums_);
      words_ = 0;
    }
  }

  [[nodiscard]] ByteVector Finish() const override {
    Sums sums = sums_;
    if (words_ > 0) Reduce(sums);
    if (has_half_) {
      Add(sums, half_ << 8);
      Reduce(sums);
    }
    Reduce(sums);
    ByteVector stored;
    AppendU32Le(stored, sums.second << 16 | sums.first);
    return stored;
  }

 private:
  // The number of words after which HDF5 reduces the sums; the checksum depends on it.
  static constexpr unsigned kWordsInBlock = 360;

  struct Sums {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
  };
  static void Add(Sums& sums, std::uint32_t word) {
    sums.first += word;
    sums.second += sums.first;
  }
  static void Reduce(Sums& sums) {
    sums.first = (sums.first & 0xffff) + (sums.first >> 16);
    sums.second = (sums.second & 0xffff) + (sums.second >> 16);
  }

  Sums sums_;
  unsigned words_ = 0;  // since the sums were reduced
  bool has_half_ = false;
  std::uint32_t half_ = 0;  // the first byte of a word
};

// Makes the digest of no bytes yet; what its Finish() returns is stored.
using MakeDigestFunction = std::unique_ptr<BytesDigest> (*)();

template <class Digest>
std::unique_ptr<BytesDigest> NewDigest() {
  return std::make_unique<Digest>();
}

class Checksum final : public BytesToBytesCodec {
 public:
  Checksum(std::string name, MakeDigestFunction digest, bool at_start)
      : name_(std::move(name)), digest_(digest), at_start_(at_start) {}

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
  const MakeDigestFunction digest_;
  const bool at_start_;
};

template <class Digest>
Result<BytesCodecPtr> BindAtEnd(const CodecSpec& spec, std::uint32_t /*item_size*/) {
  return std::make_shared<Checksum>(spec.name, NewDigest<Digest>, /*at_start=*/false);
}

// With the member `location`, "start" or "end".
template <class Digest, bool at_start_unless_said>
Result<BytesCodecPtr> BindWithLocation(const CodecSpec& spec, std::uint32_t /*item_size*/) {
  bool at_start = at_start_unless_said;
  UNSHARD_ASSIGN_OR_RETURN(const auto locations, spec.options().Find("location"));
  if (locations) {
    UNSHARD_ASSIGN_OR_RETURN(const std::string location, locations->String());
    if (location != "start" && location != "end") {
      return locations->Expected("\"start\" or \"end\"");
    }
    at_start = location == "start";
  }
  return std::make_shared<Checksum>(spec.name, NewDigest<Digest>, at_start);
}

std::uint32_t ExtendCrc32(std::uint32_t sum, ByteSpan bytes) {
  return DeflateInUse().crc32(sum, bytes);
}

std::uint32_t ExtendAdler32(std::uint32_t sum, ByteSpan bytes) {
  return DeflateInUse().adler32(sum, bytes);
}

using Crc32cDigest = RunningDigest<0, Crc32cExtend>;
using Crc32Digest = RunningDigest<0, ExtendCrc32>;
using Adler32Digest = RunningDigest<1, ExtendAdler32>;

// Zarr's crc32c has no `location`, numcodecs' has.
Result<BytesCodecPtr> BindCrc32c(const CodecSpec& spec, std::uint32_t item_size) {
  if (spec.name == "crc32c") return BindAtEnd<Crc32cDigest>(spec, item_size);
  return BindWithLocation<Crc32cDigest, false>(spec, item_size);
}

}  // namespace

const CodecDefinition& Crc32cCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr3, "crc32c", kInSchemas},
                                                     {Dialect::kZarr2, "crc32c"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindCrc32c};
  return kDefinition;
}

const CodecDefinition& Crc32Codec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "crc32"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindWithLocation<Crc32Digest, true>};
  return kDefinition;
}

const CodecDefinition& Adler32Codec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "adler32"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindWithLocation<Adler32Digest, true>};
  return kDefinition;
}

const CodecDefinition& Fletcher32Codec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "fletcher32"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindAtEnd<Fletcher32Digest>};
  return kDefinition;
}

}  // namespace unshard
