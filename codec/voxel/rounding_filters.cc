#include "codec/voxel/rounding_filters.h"

#include <cmath>
#include <utility>

#include "codec/compression/compressor.h"
#include "codec/core/float_format.h"
#include "codec/voxel/number.h"

namespace unshard {
namespace {

// Decoding is the identity, whatever rounded the items.
class RoundingFilter : public BytesCodec {
 public:
  RoundingFilter(std::string name, const std::optional<NumpyType>& type)
      : name_(std::move(name)), type_(type) {}

  [[nodiscard]] const std::string& name() const final { return name_; }
  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const final {
    if (stored.size() > max_bytes) return DecodesToMore(name_.c_str(), max_bytes);
    return ByteVector(stored.begin(), stored.end());
  }
  [[nodiscard]] Status CanEncode() const final {
    if (type_) return {};
    return Fail(ErrorCode::kNotSupported,
                "the codec \"" + name_ + "\" encodes only floats; other types can only be read");
  }
  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const final {
    UNSHARD_RETURN_IF_ERROR(CanEncode());
    const std::uint32_t size = type_->type.size;
    if (plain.size() % size != 0)
      return NotWholeItems(ErrorCode::kInvalidArgument, name_, *type_, plain);
    ByteVector rounded(plain.begin(), plain.end());
    for (std::size_t at = 0; at < rounded.size(); at += size) Round(*type_, &rounded[at]);
    return rounded;
  }

 protected:
  // Rounds one item in place.
  virtual void Round(const NumpyType& type, std::uint8_t* item) const = 0;

 private:
  const std::string name_;
  const std::optional<NumpyType> type_;  // nothing: it cannot be encoded
};

// To a multiple of 1 / scale, a power of two.
class QuantizeFilter final : public RoundingFilter {
 public:
  QuantizeFilter(std::string name, const std::optional<NumpyType>& type, double scale)
      : RoundingFilter(std::move(name), type), scale_(scale) {}

 protected:
  void Round(const NumpyType& type, std::uint8_t* item) const override {
    Number number = LoadNumber(item, type);
    if (type.type.size == 4) {
      const auto scale = static_cast<float>(scale_);
      number.real = std::nearbyintf(scale * static_cast<float>(number.real)) / scale;
    } else {
      number.real = std::nearbyint(scale_ * number.real) / scale_;
    }
    StoreNumber(number, type, item);
  }

 private:
  const double scale_;
};

// To the nearest float with `kept_bits` bits of the significand, ties to even.
class BitRoundFilter final : public RoundingFilter {
 public:
  BitRoundFilter(std::string name, const std::optional<NumpyType>& type, int kept_bits)
      : RoundingFilter(std::move(name), type), kept_bits_(kept_bits) {}

 protected:
  void Round(const NumpyType& type, std::uint8_t* item) const override {
    const std::uint32_t size = type.type.size;
    const int dropped = FloatFormatOfSize(size).fraction_bits - kept_bits_;
    if (dropped == 0) return;
    std::uint64_t bits = LoadBits(item, size);
    const std::uint64_t half = (std::uint64_t{1} << (dropped - 1)) - 1;
    bits += (bits >> dropped & 1) + half;
    StoreBits(item, size, bits >> dropped << dropped);
  }

 private:
  const int kept_bits_;
};

// As in numcodecs: the power of two with enough bits for so many decimal digits after the point.
double ScaleOf(int digits) {
  const double exponent = std::log10(std::pow(10.0, -digits));
  const double whole = exponent < 0 ? std::floor(exponent) : std::ceil(exponent);
  return std::exp2(std::ceil(std::log2(std::pow(10.0, -whole))));
}

constexpr int kMostDigits = 300;

}  // namespace

Result<Filter> MakeQuantize(const std::string& name, const CodecOptions& options,
                            const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType plain, ParseItemType(options, "dtype", {}, path));
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType stored, ParseItemType(options, "astype", plain, path));
  if (!(plain.type == stored.type) || plain.big_endian != stored.big_endian) {
    return Fail(ErrorCode::kNotSupported,
                path + ": quantize from one type to another is not supported");
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto digits, options.Find("digits"));
  std::optional<NumpyType> encoded;
  double scale = 1;
  if (!digits.empty()) {
    UNSHARD_ASSIGN_OR_RETURN(const int number,
                             options.Integer("digits", 0, -kMostDigits, kMostDigits));
    scale = ScaleOf(number);
    const bool is_float = plain.type.kind == DataType::Kind::kFloat && plain.type.size >= 4;
    if (is_float) encoded = plain;
  }
  return Filter{std::make_shared<QuantizeFilter>(name, encoded, scale), plain, plain, true};
}

Result<Filter> MakeBitRound(const std::string& name, const std::optional<NumpyType>& items,
                            const CodecOptions& options) {
  UNSHARD_ASSIGN_OR_RETURN(const auto kept, options.Find("keepbits"));
  std::optional<NumpyType> encoded;
  int bits = 0;
  if (!kept.empty() && items && !items->big_endian && items->type.kind == DataType::Kind::kFloat) {
    UNSHARD_ASSIGN_OR_RETURN(
        bits, options.Integer("keepbits", 0, 0, FloatFormatOfSize(items->type.size).fraction_bits));
    encoded = items;
  }
  return Filter{std::make_shared<BitRoundFilter>(name, encoded, bits), {}, {}, true};
}

}  // namespace unshard
