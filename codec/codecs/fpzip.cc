// The encodings fpzip and kempressed of precomputed volumes (reading only): arrays of up to four
// dimensions of float32 or float64, each value as its difference to a prediction.
//
// A stream is the code of a range coder. It begins with numbers whose values are all as likely:
//   "fpz" and 0, 8 bits each; the version 0x110, 16 bits; the arithmetic, 8 bits: 1, IEEE 754
//   0 float32, 1 float64, 1 bit; the precision, 7 bits: how many of a value's upper bits are kept,
//   0: all; the extents, the fastest first, 32 bits each
// Then follow the values, each field (the slowest dimension) for itself. A value is predicted from
// its seven neighbours in a cube, 0 outside the array: the sum of those at an odd distance minus
// the others. Its upper bits, as an integer in the order of the values, minus those of the
// prediction are a symbol: of at most 8 bits, the difference itself; of more, its sign and the
// position of its highest bit, followed by the bits below. The odds of the symbols adapt.
//
// kempressed: z and c change places, and each value is greater by 2.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"
#include "codec/codecs/volume_encoding.h"
#include "codec/grid/chunk_check.h"

namespace unshard {
namespace {

// The odds of symbols: how many of 2^16 parts each has. They count the symbols that occur, and are
// used from the next renewal on.
class FpzipModel {
 public:
  static constexpr unsigned kTotalBits = 16;

  explicit FpzipModel(std::uint32_t symbols)
      : counts_(symbols, kTotal / symbols),
        starts_(symbols + 1, kTotal),
        period_(symbols >> 4 | 2) {
    std::fill_n(counts_.begin(), kTotal % symbols, kTotal / symbols + 1);
    Renew();
  }

  struct Part {
    std::uint32_t symbol, start, size;
  };
  // The symbol whose part has `place`, below 2^16. It is counted.
  Part Take(std::uint32_t place) {
    std::uint32_t symbol = guide_[place >> kGuideShift];
    while (starts_[symbol + 1] <= place) ++symbol;
    const Part part = {symbol, starts_[symbol], starts_[symbol + 1] - starts_[symbol]};
    if (left_ == 0) Renew();
    --left_;
    counts_[symbol] += step_;
    return part;
  }

 private:
  static constexpr std::uint32_t kTotal = 1u << kTotalBits;
  static constexpr std::uint32_t kLongestPeriod = 1024;
  static constexpr unsigned kGuideShift = 8;
  static constexpr std::uint32_t kBuckets = kTotal >> kGuideShift;

  // After each period the counts, whose sum is kTotal again, become the parts, and are halved. What
  // that leaves of kTotal is shared among the symbols of the next period: those that come last have
  // one more.
  void Renew() {
    if (greater_ > 0) {
      left_ = std::exchange(greater_, 0);
      ++step_;
      return;
    }
    period_ = std::min(2 * period_, kLongestPeriod);
    std::uint32_t start = 0, halves = 0, bucket = 0;
    for (std::uint32_t symbol = 0; symbol < counts_.size(); ++symbol) {
      starts_[symbol] = start;
      start += counts_[symbol];
      for (; bucket << kGuideShift < start; ++bucket) guide_[bucket] = symbol;
      counts_[symbol] = counts_[symbol] >> 1 | 1;
      halves += counts_[symbol];
    }
    step_ = (kTotal - halves) / period_;
    greater_ = (kTotal - halves) % period_;
    left_ = period_ - greater_;
  }

  std::vector<std::uint32_t> counts_;
  std::vector<std::uint32_t> starts_;            // one more than there are symbols
  std::array<std::uint32_t, kBuckets> guide_{};  // the first symbol in each
  std::uint32_t period_;
  std::uint32_t left_ = 0;     // symbols until the next renewal
  std::uint32_t greater_ = 0;  // symbols after those, with a greater step
  std::uint32_t step_ = 0;
};

// The range coder. After the end, or at a code outside its interval, all numbers are 0 and `fits`
// is false.
class FpzipCode {
 public:
  explicit FpzipCode(ByteSpan bytes) : rest_(bytes) { Shift(4); }

  [[nodiscard]] bool fits() const { return fits_; }

  // A number of so many bits, whose values are all as likely.
  std::uint64_t Number(unsigned bits) {
    std::uint64_t number = 0;
    unsigned at = 0;
    for (; bits - at > kMostBits; at += kMostBits) number |= Uniform(kMostBits) << at;
    return number | Uniform(bits - at) << at;
  }

  std::uint32_t Symbol(FpzipModel& model) {
    const std::uint32_t place = Place(FpzipModel::kTotalBits);
    if (!fits_) return 0;
    const FpzipModel::Part part = model.Take(place);
    Narrow(part.start, part.size);
    return part.symbol;
  }

 private:
  static constexpr unsigned kMostBits = 16;

  // Divides the interval into 2^bits parts: that of the code.
  std::uint32_t Place(unsigned bits) {
    range_ >>= bits;
    const std::uint32_t place = fits_ && range_ > 0 ? (code_ - low_) / range_ : ~0u;
    if (place >> bits == 0) return place;
    fits_ = false;
    return 0;
  }
  std::uint64_t Uniform(unsigned bits) {
    const std::uint32_t place = Place(bits);
    if (fits_) Narrow(place, 1);
    return place;
  }

  // To `count` of the parts. Shifts out the bytes that are the same at both ends; where the
  // interval is small and has a carry within, it ends there.
  void Narrow(std::uint32_t start, std::uint32_t count) {
    low_ += range_ * start;
    range_ *= count;
    while (fits_ && (low_ ^ (low_ + range_)) >> 24 == 0) {
      Shift(1);
      range_ <<= 8;
    }
    if (range_ >> 16 == 0) {
      Shift(2);
      range_ = 0 - low_;
    }
  }

  void Shift(std::size_t count) {
    fits_ = fits_ && count <= rest_.size();
    if (!fits_) return;
    for (const std::uint8_t byte : rest_.first(count)) {
      code_ = code_ << 8 | byte;
      low_ <<= 8;
    }
    rest_ = rest_.subspan(count);
  }

  ByteSpan rest_;
  bool fits_ = true;
  std::uint32_t code_ = 0, low_ = 0, range_ = ~0u;
};

struct FpzipHeader {
  std::uint32_t value_size = 0;
  unsigned precision = 0;  // bits
  std::array<std::uint64_t, 4> extents{};
};

constexpr const char* kFpzipChunk = "fpzip chunk";
// The header has 24 bytes or one more; a range coder reads ahead.
constexpr std::uint64_t kFpzipHeader = 32;

// Fails with kInvalidArgument.
Result<FpzipHeader> ParseFpzipHeader(FpzipCode& code) {
  bool is_fpzip = true;
  for (const char letter : {'f', 'p', 'z', '\0'}) {
    is_fpzip = is_fpzip && code.Number(8) == static_cast<std::uint8_t>(letter);
  }
  is_fpzip = is_fpzip && code.Number(16) == 0x110 && code.Number(8) == 1;
  FpzipHeader header;
  header.value_size = code.Number(1) == 0 ? 4 : 8;
  header.precision = static_cast<unsigned>(code.Number(7));
  for (std::uint64_t& extent : header.extents) extent = code.Number(32);
  if (!is_fpzip || !code.fits()) {
    return RefuseChunk(kFpzipChunk, "expected a header that begins with \"fpz\" and version 1.1.0");
  }
  const unsigned bits = 8 * header.value_size, step = bits / 32;
  if (header.precision == 0) header.precision = bits;
  if (header.precision < 2 * step || header.precision > bits || header.precision % step != 0) {
    return RefuseChunk(kFpzipChunk, "expected a precision of at most ", bits, " bits, found ",
                       header.precision);
  }
  return header;
}

template <class Float>
using WordOf = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;

// In the order in which libfpzip adds the first, and subtracts and adds the others in turn, which
// decides how sums are rounded.
template <class Float>
using Neighbours = std::array<Float, 7>;

// A prediction that is no number, as on x86: the first of those that are none, or a negative one.
// Compilers may exchange the operands of a sum, and other processors have other rules.
template <class Float>
WordOf<Float> PredictedNan(const Neighbours<Float>& near) {
  using Word = WordOf<Float>;
  constexpr int kFraction = std::numeric_limits<Float>::digits - 1;
  constexpr Word kQuiet = Word{1} << (kFraction - 1);
  Float sum = 0;
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (std::isnan(near[i])) return std::bit_cast<Word>(near[i]) | kQuiet;
    sum = i % 2 == 0 ? sum + near[i] : sum - near[i];
    if (std::isnan(sum)) return static_cast<Word>(~Word{0} << (kFraction - 1));
  }
  return std::bit_cast<Word>(sum);
}

template <class Float>
WordOf<Float> Predicted(const Neighbours<Float>& near) {
  const Float sum = near[0] - near[1] + near[2] - near[3] + near[4] - near[5] + near[6];
  return std::isnan(sum) ? PredictedNan(near) : std::bit_cast<WordOf<Float>>(sum);
}

// The values of one field, which are predicted as they are read.
template <class Float>
class FpzipField {
  using Word = WordOf<Float>;

 public:
  FpzipField(FpzipCode& code, unsigned precision)
      : code_(code),
        precision_(precision),
        zero_(precision <= kPlainBits ? (1u << precision) - 1 : precision),
        model_(2 * zero_ + 1) {}

  // Reads values of `size` (x, y, z) to `bytes`. False: damage.
  bool Read(const std::array<std::uint64_t, 3>& size, std::uint8_t* bytes) {
    const std::uint64_t row = size[0] + 1;
    // Two planes, each with a row and a column of zeros before the others.
    std::vector<Float> before(row * (size[1] + 1)), plane = before;
    for (std::uint64_t z = 0; z < size[2]; ++z, plane.swap(before)) {
      for (std::uint64_t y = 1; y <= size[1]; ++y) {
        Float* const here = plane.data() + y * row;
        const Float* const above = here - row;
        const Float* const back = before.data() + y * row;
        const Float* const above_back = back - row;
        for (std::uint64_t x = 1; x < row; ++x, bytes += sizeof(Float)) {
          const Neighbours<Float> near = {here[x - 1], above_back[x], above[x],         back[x - 1],
                                          back[x],     above[x - 1],  above_back[x - 1]};
          const Word bits = Next(Predicted(near));
          here[x] = std::bit_cast<Float>(bits);
          StoreLe(bytes, bits, sizeof(Word));
        }
        if (!code_.fits()) return false;
      }
    }
    return true;
  }

 private:
  static constexpr unsigned kPlainBits = 8;

  Word Next(Word predicted) {
    const std::uint32_t symbol = code_.Symbol(model_);
    Word difference = static_cast<Word>(symbol) - zero_;
    if (precision_ > kPlainBits && symbol != zero_) {
      const unsigned bits = (symbol > zero_ ? symbol - zero_ : zero_ - symbol) - 1;
      difference = static_cast<Word>(Word{1} << bits | code_.Number(bits));
      if (symbol < zero_) difference = 0 - difference;
    }
    return FromRank(static_cast<Word>(ToRank(predicted) + difference));
  }

  // The upper bits of a value, as an integer in the order of the values, and back. The inverse of
  // the rank of a negative value has no bits but its own; that of another value flips the sign.
  [[nodiscard]] unsigned unused_bits() const { return 8 * sizeof(Word) - precision_; }
  [[nodiscard]] Word Flipped(Word rank) const {
    const bool is_positive = (rank >> (precision_ - 1) & 1) != 0;
    return is_positive ? rank ^ ((Word{1} << (precision_ - 1)) - 1) : rank;
  }
  [[nodiscard]] Word ToRank(Word bits) const {
    return Flipped(static_cast<Word>(~bits) >> unused_bits());
  }
  [[nodiscard]] Word FromRank(Word rank) const {
    return static_cast<Word>(~Flipped(rank)) << unused_bits();
  }

  FpzipCode& code_;
  const unsigned precision_;
  const std::uint32_t zero_;  // the symbol of no difference
  FpzipModel model_;
};

template <class Float>
void SubtractTwo(ByteVector& bytes) {
  using Word = WordOf<Float>;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Float)) {
    const auto value = std::bit_cast<Float>(static_cast<Word>(LoadLe(&bytes[at], sizeof(Float))));
    StoreLe(&bytes[at], std::bit_cast<Word>(value - Float{2}), sizeof(Float));
  }
}

class Fpzip : public VolumeEncoding {
 public:
  using VolumeEncoding::VolumeEncoding;

  [[nodiscard]] bool is_lossless() const override { return false; }
  [[nodiscard]] Status CanEncode() const override { return OnlyRead(); }
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return std::min(size, kFpzipHeader);
  }

 protected:
  [[nodiscard]] Result<ByteVector> DecodeChunk(ByteSpan encoded,
                                               const VolumeExtent& extent) const override {
    FpzipCode code(encoded);
    UNSHARD_ASSIGN_OR_RETURN(const FpzipHeader header, ParseHeaderOf(extent, code));
    ByteVector decoded(*VoxelBytes(volume().type, header.extents));
    const std::array<std::uint64_t, 3> field = {header.extents[0], header.extents[1],
                                                header.extents[2]};
    const std::uint64_t field_bytes = decoded.size() / header.extents[3];
    for (std::uint64_t at = 0; at < decoded.size(); at += field_bytes) {
      const bool done = header.value_size == 4
                            ? FpzipField<float>(code, header.precision).Read(field, &decoded[at])
                            : FpzipField<double>(code, header.precision).Read(field, &decoded[at]);
      if (!done) return Damaged(kFpzipChunk, "the stream is cut short or damaged");
    }
    return decoded;
  }
  // The header.
  [[nodiscard]] Status CheckChunk(ByteSpan start, std::uint64_t /*size*/,
                                  const VolumeExtent& extent) const override {
    FpzipCode code(start);
    return ParseHeaderOf(extent, code).map([](const FpzipHeader&) {});
  }

  // The extents of a stream, the fastest first.
  [[nodiscard]] virtual std::array<std::uint64_t, 4> StreamExtents(
      const VolumeExtent& extent) const {
    return {extent[0], extent[1], extent[2], volume().channels};
  }

 private:
  [[nodiscard]] Result<FpzipHeader> ParseHeaderOf(const VolumeExtent& extent,
                                                  FpzipCode& code) const {
    UNSHARD_ASSIGN_OR_RETURN(const FpzipHeader header, ParseFpzipHeader(code));
    const std::array<std::uint64_t, 4> expected = StreamExtents(extent), found = header.extents;
    if (found == expected && header.value_size == volume().type.size) return header;
    const auto text = [](const std::array<std::uint64_t, 4>& of, std::uint64_t size) {
      return Message(
          {of[0], " x ", of[1], " x ", of[2], " x ", of[3], " values of ", size, " bytes"});
    };
    return RefuseChunk(kFpzipChunk, "expected ", text(expected, volume().type.size), ", found ",
                       text(found, header.value_size));
  }
};

class Kempressed final : public Fpzip {
 public:
  using Fpzip::Fpzip;

 protected:
  [[nodiscard]] Result<ByteVector> DecodeChunk(ByteSpan encoded,
                                               const VolumeExtent& extent) const override {
    UNSHARD_ASSIGN_OR_RETURN(ByteVector stream, Fpzip::DecodeChunk(encoded, extent));
    if (volume().type.size == 4) {
      SubtractTwo<float>(stream);
    } else {
      SubtractTwo<double>(stream);
    }
    const std::uint64_t channels = volume().channels;
    if (channels == 1) return stream;
    ByteVector decoded;
    decoded.reserve(stream.size());
    const std::size_t plane = stream.size() / (extent[2] * channels);
    for (std::uint64_t c = 0; c < channels; ++c) {
      for (std::uint64_t z = 0; z < extent[2]; ++z) {
        const ByteSpan slice = ByteSpan(stream).subspan((z * channels + c) * plane, plane);
        decoded.insert(decoded.end(), slice.begin(), slice.end());
      }
    }
    return decoded;
  }
  [[nodiscard]] std::array<std::uint64_t, 4> StreamExtents(
      const VolumeExtent& extent) const override {
    return {extent[0], extent[1], volume().channels, extent[2]};
  }
};

template <class Encoding>
Result<ArrayToBytesCodecPtr> BindFpzip(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(EncodedVolume volume, EncodedVolumeOf(spec, decoded));
  if (volume.type.kind != DataType::Kind::kFloat || volume.type.size < 4) {
    return RefuseVolume(volume, "float32 or float64");
  }
  return std::make_shared<Encoding>(std::move(volume));
}

}  // namespace

const CodecDefinition& FpzipCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kPrecomputed, "fpzip"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindFpzip<Fpzip>};
  return kDefinition;
}

const CodecDefinition& KempressedCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kPrecomputed, "kempressed"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindFpzip<Kempressed>};
  return kDefinition;
}

}  // namespace unshard
