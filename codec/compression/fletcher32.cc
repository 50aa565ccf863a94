#include "codec/compression/fletcher32.h"

#include <algorithm>
#include <utility>

namespace unshard {
namespace {

constexpr std::uint64_t kSumSize = 4;
// So many words are added before the sums are reduced: what the reduced sums are depends on it.
constexpr unsigned kWordsInBlock = 360;

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

class Fletcher32 final : public BytesCodec {
 public:
  explicit Fletcher32(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::optional<std::uint64_t> fixed_overhead() const override { return kSumSize; }
  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const override {
    if (stored.size() < kSumSize) {
      return Fail(ErrorCode::kDataLoss, name_ + ": expected a checksum of 4 bytes, found " +
                                            std::to_string(stored.size()) + " bytes in all");
    }
    const ByteSpan plain = stored.first(stored.size() - kSumSize);
    const ByteSpan found = stored.last(kSumSize);
    if (plain.size() > max_bytes) {
      return Fail(ErrorCode::kResourceExhausted,
                  name_ + ": holds more than " + std::to_string(max_bytes) + " bytes");
    }
    const ByteVector expected = SumOf(plain);
    if (!std::equal(expected.begin(), expected.end(), found.begin())) {
      return Fail(ErrorCode::kDataLoss, name_ + ": the checksum does not match");
    }
    return ByteVector(plain.begin(), plain.end());
  }
  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const override {
    ByteVector stored(plain.begin(), plain.end());
    const ByteVector sum = SumOf(plain);
    stored.insert(stored.end(), sum.begin(), sum.end());
    return stored;
  }
  [[nodiscard]] std::unique_ptr<BytesDigest> MakeDigest() const override {
    return std::make_unique<Fletcher32Digest>();
  }

 private:
  static ByteVector SumOf(ByteSpan plain) {
    Fletcher32Digest digest;
    digest.Update(plain);
    return digest.Finish();
  }

  const std::string name_;
};

}  // namespace

Result<BytesCodecPtr> MakeFletcher32(const std::string& name, const CodecOptions&) {
  return std::make_shared<Fletcher32>(name);
}

}  // namespace unshard
