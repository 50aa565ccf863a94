// Fletcher's checksum of 32 bits as HDF5 and numcodecs compute it: over big-endian words of 16
// bits, stored little-endian after the bytes that it protects.
#include "codec/codecs/checksum.h"
#include "codec/codecs/codecs.h"

namespace unshard {
namespace {

// The number of words after which HDF5 reduces the sums; the checksum depends on it.
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

Result<BytesCodecPtr> BindFletcher32(const CodecSpec& spec, std::uint32_t /*item_size*/) {
  return MakeChecksumAtEnd(spec.name, [] { return std::make_unique<Fletcher32Digest>(); });
}

}  // namespace

const CodecDefinition& Fletcher32Codec() {
  static constexpr CodecDefinition::Name kNames[] = {{ArrayDialect::kZarr2, "fletcher32"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindFletcher32};
  return kDefinition;
}

}  // namespace unshard
