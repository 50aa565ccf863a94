#include "codec/voxel/value_filters.h"

#include <cmath>
#include <utility>

#include "codec/compression/compressor.h"
#include "codec/json/number.h"
#include "codec/voxel/number.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

// A codec of items that are converted one by one.
class ItemFilter : public BytesCodec {
 public:
  ItemFilter(std::string name, const NumpyType& plain, const NumpyType& stored)
      : name_(std::move(name)), plain_(plain), stored_(stored) {}

  [[nodiscard]] const std::string& name() const final { return name_; }

  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const final {
    if (stored.size() / stored_.type.size > max_bytes / plain_.type.size) {
      return DecodesToMore(name_.c_str(), max_bytes);
    }
    return Convert(stored, stored_, plain_, ErrorCode::kDataLoss,
                   [this](const Number& number) { return Plain(number); });
  }

  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const final {
    return Convert(plain, plain_, stored_, ErrorCode::kInvalidArgument,
                   [this](const Number& number) { return Stored(number); });
  }

 protected:
  // The value of an item, before it takes the type of the items on the other side.
  [[nodiscard]] virtual Number Plain(const Number& stored) const = 0;
  [[nodiscard]] virtual Number Stored(const Number& plain) const = 0;

 private:
  template <class Compute>
  [[nodiscard]] Result<ByteVector> Convert(ByteSpan from, const NumpyType& from_type,
                                           const NumpyType& to_type, ErrorCode code,
                                           const Compute& compute) const {
    const std::uint32_t from_size = from_type.type.size;
    const std::uint32_t to_size = to_type.type.size;
    if (from.size() % from_size != 0) return NotWholeItems(code, name_, from_type, from);
    const std::size_t count = from.size() / from_size;
    ByteVector to(count * to_size);
    for (std::size_t i = 0; i < count; ++i) {
      const Number number = compute(LoadNumber(&from[i * from_size], from_type));
      if (StoreNumber(number, to_type, &to[i * to_size])) continue;
      return Fail(code, name_ + ": item " + std::to_string(i) + ": " +
                            std::to_string(number.ToReal()) + " does not fit in " +
                            DataTypeName(to_type.type));
    }
    return to;
  }

  const std::string name_;
  const NumpyType plain_;
  const NumpyType stored_;
};

// Floats of 4 bytes: an operation in 8 bytes whose result is rounded to 4 has the result of one
// in 4.
double Rounded(double real, bool is_single) {
  return is_single ? static_cast<double>(static_cast<float>(real)) : real;
}

bool IsSingle(const NumpyType& type) {
  return type.type.kind == Kind::kFloat && type.type.size == 4;
}

class FixedScaleOffset final : public ItemFilter {
 public:
  FixedScaleOffset(std::string name, const NumpyType& plain, const NumpyType& stored, double scale,
                   double offset)
      : ItemFilter(std::move(name), plain, stored),
        plain_is_single_(IsSingle(plain)),
        stored_is_single_(IsSingle(stored)),
        scale_(scale),
        offset_(offset) {}

 protected:
  [[nodiscard]] Number Plain(const Number& stored) const override {
    const bool single = stored_is_single_;
    const double scaled = Rounded(stored.ToReal() / Rounded(scale_, single), single);
    return Real(Rounded(scaled + Rounded(offset_, single), single));
  }
  [[nodiscard]] Number Stored(const Number& plain) const override {
    const bool single = plain_is_single_;
    const double moved = Rounded(plain.ToReal() - Rounded(offset_, single), single);
    return Real(std::nearbyint(Rounded(moved * Rounded(scale_, single), single)));
  }

 private:
  static Number Real(double value) { return {Number::Form::kReal, 0, value}; }

  const bool plain_is_single_;
  const bool stored_is_single_;
  const double scale_;
  const double offset_;
};

class AsType final : public ItemFilter {
 public:
  using ItemFilter::ItemFilter;

 protected:
  [[nodiscard]] Number Plain(const Number& stored) const override { return stored; }
  [[nodiscard]] Number Stored(const Number& plain) const override { return plain; }
};

class PackBits final : public BytesCodec {
 public:
  explicit PackBits(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const override {
    const std::uint64_t left_over = stored.empty() ? 0 : stored.front();
    const std::uint64_t bits = stored.empty() ? 0 : 8 * (std::uint64_t{stored.size()} - 1);
    if (stored.empty() || left_over > 7 || left_over > bits) {
      return Fail(ErrorCode::kDataLoss,
                  name_ +
                      ": expected a first byte from 0 to 7, the number of unused bits among those "
                      "that follow, found " +
                      std::to_string(left_over) + " and " + std::to_string(bits) + " bits");
    }
    const std::uint64_t count = bits - left_over;
    if (count > max_bytes) return DecodesToMore(name_.c_str(), max_bytes);
    ByteVector plain(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < plain.size(); ++i) {
      plain[i] = static_cast<std::uint8_t>(stored[1 + i / 8] >> (7 - i % 8) & 1);
    }
    return plain;
  }

  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const override {
    ByteVector stored(static_cast<std::size_t>(PackedBitsSize(plain.size())));
    stored.front() = static_cast<std::uint8_t>((8 - plain.size() % 8) % 8);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      if (plain[i] == 0) continue;
      stored[1 + i / 8] = static_cast<std::uint8_t>(stored[1 + i / 8] | 1U << (7 - i % 8));
    }
    return stored;
  }

 private:
  const std::string name_;
};

Result<NumpyType> ParseNumberType(const CodecOptions& options, const char* key,
                                  const std::optional<NumpyType>& absent, const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType type, ParseItemType(options, key, absent, path));
  if (IsNumberType(type.type)) return type;
  return Fail(ErrorCode::kNotSupported,
              path + ": converting values of " + DataTypeName(type.type) + " is not supported");
}

Result<double> ParseReal(const CodecOptions& options, const char* key, const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const auto found, options.Find(key));
  if (found.empty()) {
    return Fail(ErrorCode::kDataLoss, path + ": expected the member \"" + std::string(key) + "\"");
  }
  return FiniteNumberAt(found.front());
}

// Whether each real number becomes some value of the type: integers lack most of them.
bool HoldsReals(const DataType& type) {
  return type.kind == Kind::kFloat || type.kind == Kind::kBool;
}

// Whether every value of `from` is unchanged after a conversion to `to` and back.
bool HoldsEach(const DataType& from, const DataType& to) {
  if (from == to || from.kind == Kind::kBool) return true;
  if (to.kind == Kind::kBool) return false;
  const bool from_integer = from.kind != Kind::kFloat;
  if (to.kind == Kind::kFloat) {
    const unsigned digits = to.size == 4 ? 24 : 53;
    return from_integer ? 8 * from.size <= digits : from.size <= to.size;
  }
  if (!from_integer) return false;
  if (from.kind == to.kind) return from.size <= to.size;
  // Integers keep their lower bits: those of the same width are unchanged after both conversions.
  return from.kind == Kind::kUnsigned ? from.size <= to.size : from.size == to.size;
}

}  // namespace

std::uint64_t PackedBitsSize(std::uint64_t items) { return 1 + items / 8 + (items % 8 != 0); }

Result<Filter> MakeFixedScaleOffset(const std::string& name, const CodecOptions& options,
                                    const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType plain, ParseNumberType(options, "dtype", {}, path));
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType stored, ParseNumberType(options, "astype", plain, path));
  UNSHARD_ASSIGN_OR_RETURN(const double scale, ParseReal(options, "scale", path));
  UNSHARD_ASSIGN_OR_RETURN(const double offset, ParseReal(options, "offset", path));
  if (scale == 0) {
    return Fail(ErrorCode::kDataLoss, path + ": expected a `scale` that is not 0");
  }
  return Filter{std::make_shared<FixedScaleOffset>(name, plain, stored, scale, offset), plain,
                stored, true, !HoldsReals(plain.type)};
}

Result<Filter> MakeAsType(const std::string& name, const CodecOptions& options,
                          const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType plain,
                           ParseNumberType(options, "decode_dtype", {}, path));
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType stored,
                           ParseNumberType(options, "encode_dtype", {}, path));
  const bool from_reals = stored.type.kind == Kind::kFloat && !HoldsReals(plain.type);
  return Filter{std::make_shared<AsType>(name, plain, stored), plain, stored,
                !HoldsEach(plain.type, stored.type), from_reals};
}

Filter MakePackBits(const std::string& name) {
  return Filter{.codec = std::make_shared<PackBits>(name),
                .plain = NumpyType{{Kind::kBool, 1}},
                .stored = NumpyType{{Kind::kUnsigned, 1}},
                .packs_bits = true};
}

}  // namespace unshard
