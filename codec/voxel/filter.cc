#include "codec/voxel/filter.h"

#include <bit>
#include <utility>

#include "codec/compression/codec_options.h"
#include "codec/compression/compressor.h"
#include "codec/voxel/numpy_type.h"
#include "codec/voxel/transpose.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

std::uint64_t Load(const std::uint8_t* at, std::uint32_t size) {
  std::uint64_t value = 0;
  for (std::uint32_t i = size; i-- > 0;) value = value << 8 | at[i];
  return value;
}

void Store(std::uint8_t* at, std::uint32_t size, std::uint64_t value) {
  for (std::uint32_t i = 0; i < size; ++i) at[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

// An integer as 64 bits: sums and differences of these are right in any width.
std::uint64_t Extend(std::uint64_t value, const DataType& type) {
  const unsigned shift = 64 - 8 * type.size;
  if (type.kind != Kind::kSigned) return value;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
}

ByteVector InLittleEndian(ByteSpan items, const NumpyType& type) {
  ByteVector copy(items.begin(), items.end());
  if (type.big_endian) ReverseBytes(copy, type.type.ordered_size());
  return copy;
}

void ToByteOrderOf(const NumpyType& type, ByteVector& items) {
  if (type.big_endian) ReverseBytes(items, type.type.ordered_size());
}

// The first item, then the difference of each item to the one before it.
class Delta final : public BytesCodec {
 public:
  Delta(std::string name, const NumpyType& plain, const NumpyType& stored)
      : name_(std::move(name)), plain_(plain), stored_(stored) {}

  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const override {
    const std::uint32_t from_size = stored_.type.size;
    const std::uint32_t to_size = plain_.type.size;
    if (stored.size() % from_size != 0) return NotWhole(ErrorCode::kDataLoss, stored_, stored);
    const std::size_t count = stored.size() / from_size;
    if (count > max_bytes / to_size) return DecodesToMore("delta", max_bytes);
    const ByteVector from = InLittleEndian(stored, stored_);
    ByteVector to(count * to_size);
    if (plain_.type.kind == Kind::kFloat) {
      Accumulate(from, to);
    } else {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        sum += Extend(Load(from.data() + i * from_size, from_size), stored_.type);
        Store(to.data() + i * to_size, to_size, sum);
      }
    }
    ToByteOrderOf(plain_, to);
    return to;
  }

  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const override {
    const std::uint32_t from_size = plain_.type.size;
    const std::uint32_t to_size = stored_.type.size;
    if (plain.size() % from_size != 0) return NotWhole(ErrorCode::kInvalidArgument, plain_, plain);
    const std::size_t count = plain.size() / from_size;
    const ByteVector from = InLittleEndian(plain, plain_);
    ByteVector to(count * to_size);
    if (plain_.type.kind == Kind::kFloat) {
      Differentiate(from, to);
    } else {
      std::uint64_t last = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t item = Load(from.data() + i * from_size, from_size);
        // The difference has the width of the items before it is stored with another one.
        const std::uint64_t difference = Truncate(item - last);
        Store(to.data() + i * to_size, to_size, difference);
        last = item;
      }
    }
    ToByteOrderOf(stored_, to);
    return to;
  }

 private:
  [[nodiscard]] std::uint64_t Truncate(std::uint64_t value) const {
    const unsigned bits = 8 * plain_.type.size;
    return Extend(bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1), plain_.type);
  }

  static tl::unexpected<Error> NotWhole(ErrorCode code, const NumpyType& type, ByteSpan items) {
    return Fail(code, "delta: expected items of " + std::to_string(type.type.size) +
                          " bytes, found " + std::to_string(items.size()) + " bytes in all");
  }

  void Accumulate(ByteSpan from, ByteVector& to) const {
    if (plain_.type.size == 4) {
      Sum<float, std::uint32_t>(from, to);
    } else {
      Sum<double, std::uint64_t>(from, to);
    }
  }

  void Differentiate(ByteSpan from, ByteVector& to) const {
    if (plain_.type.size == 4) {
      Subtract<float, std::uint32_t>(from, to);
    } else {
      Subtract<double, std::uint64_t>(from, to);
    }
  }

  template <class Real, class Bits>
  static void Sum(ByteSpan from, ByteVector& to) {
    Real sum = 0;
    for (std::size_t at = 0; at < from.size(); at += sizeof(Bits)) {
      const auto item = std::bit_cast<Real>(static_cast<Bits>(Load(&from[at], sizeof(Bits))));
      sum = at == 0 ? item : sum + item;
      Store(&to[at], sizeof(Bits), std::bit_cast<Bits>(sum));
    }
  }

  template <class Real, class Bits>
  static void Subtract(ByteSpan from, ByteVector& to) {
    Real last = 0;
    for (std::size_t at = 0; at < from.size(); at += sizeof(Bits)) {
      const auto item = std::bit_cast<Real>(static_cast<Bits>(Load(&from[at], sizeof(Bits))));
      Store(&to[at], sizeof(Bits), std::bit_cast<Bits>(at == 0 ? item : item - last));
      last = item;
    }
  }

  const std::string name_;
  const NumpyType plain_;
  const NumpyType stored_;
};

// A filter that loses digits when it encodes: what it gives are items as they are.
class DigitsLost final : public BytesCodec {
 public:
  explicit DigitsLost(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Result<ByteVector> Decode(ByteSpan stored, std::uint64_t max_bytes) const override {
    if (stored.size() > max_bytes) return DecodesToMore(name_.c_str(), max_bytes);
    return ByteVector(stored.begin(), stored.end());
  }
  [[nodiscard]] Status CanEncode() const override {
    return Fail(ErrorCode::kNotSupported, "the codec \"" + name_ + "\" is decoded only");
  }
  [[nodiscard]] Result<ByteVector> Encode(ByteSpan /*plain*/) const override {
    return tl::unexpected<Error>(CanEncode().error());
  }

 private:
  const std::string name_;
};

// The type in the member `key`; `absent`, or a failure without one, where there is none.
Result<NumpyType> ParseType(const CodecOptions& options, const char* key,
                            const std::optional<NumpyType>& absent, const std::string& json_path) {
  UNSHARD_ASSIGN_OR_RETURN(const auto found, options.Find(key));
  if (found.empty() && absent) return *absent;
  if (found.empty()) {
    return Fail(ErrorCode::kDataLoss,
                json_path + ": expected the member \"" + std::string(key) + "\"");
  }
  UNSHARD_ASSIGN_OR_RETURN(const std::string name, found.front().String());
  if (const auto type = ParseNumpyType(name)) return *type;
  // NumPy's other names, which are those of Zarr v3.
  if (const auto type = FindDataType(DataTypeDialect::kZarr, name)) return NumpyType{*type, false};
  return Fail(ErrorCode::kNotSupported,
              found.front().path() + ": the data type \"" + name + "\" is not known here");
}

bool IsInteger(const DataType& type) {
  return type.kind == Kind::kSigned || type.kind == Kind::kUnsigned;
}

Result<std::optional<Filter>> MakeDelta(const std::string& name, const CodecOptions& options,
                                        const std::string& json_path) {
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType plain, ParseType(options, "dtype", {}, json_path));
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType stored, ParseType(options, "astype", plain, json_path));
  const bool integers = IsInteger(plain.type) && IsInteger(stored.type);
  const bool floats =
      plain.type.kind == Kind::kFloat && plain.type == stored.type && plain.type.size >= 4;
  if (!integers && !floats) {
    return Fail(ErrorCode::kNotSupported, json_path + ": delta of " + DataTypeName(plain.type) +
                                              " as " + DataTypeName(stored.type) +
                                              " is not known here");
  }
  // Differences of floats are rounded.
  return Filter{std::make_shared<Delta>(name, plain, stored), stored.type.size,
                floats || stored.type.size < plain.type.size};
}

Result<std::optional<Filter>> MakeQuantize(const std::string& name, const CodecOptions& options,
                                           const std::string& json_path) {
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType plain, ParseType(options, "dtype", {}, json_path));
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType stored, ParseType(options, "astype", plain, json_path));
  if (!(plain.type == stored.type) || plain.big_endian != stored.big_endian) {
    return Fail(ErrorCode::kNotSupported,
                json_path + ": quantize from one type to another is not known here");
  }
  return Filter{std::make_shared<DigitsLost>(name), plain.type.size, true};
}

}  // namespace

Result<std::optional<Filter>> MakeFilter(const std::string& id, const std::string& name,
                                         const JsonValue* configuration,
                                         const std::string& json_path) {
  if (configuration != nullptr && configuration->is_null()) configuration = nullptr;
  const CodecOptions options(configuration, json_path);
  if (id == "delta") return MakeDelta(name, options, json_path);
  if (id == "quantize") return MakeQuantize(name, options, json_path);
  if (id == "bitround") return Filter{std::make_shared<DigitsLost>(name), 0, true};
  return std::optional<Filter>();
}

}  // namespace unshard
