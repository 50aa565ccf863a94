#include "codec/voxel/filter.h"

#include <bit>
#include <utility>

#include "codec/compression/codec_options.h"
#include "codec/compression/compressor.h"
#include "codec/voxel/number.h"
#include "codec/voxel/rounding_filters.h"
#include "codec/voxel/transpose.h"
#include "codec/voxel/value_filters.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

constexpr const char* kDelta = "delta";

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
    if (stored.size() % from_size != 0)
      return NotWholeItems(ErrorCode::kDataLoss, kDelta, stored_, stored);
    const std::size_t count = stored.size() / from_size;
    if (count > max_bytes / to_size) return DecodesToMore(kDelta, max_bytes);
    const ByteVector from = InLittleEndian(stored, stored_);
    ByteVector to(count * to_size);
    if (plain_.type.kind == Kind::kFloat) {
      Accumulate(from, to);
    } else {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        sum += ExtendInteger(LoadBits(from.data() + i * from_size, from_size), stored_.type);
        StoreBits(to.data() + i * to_size, to_size, sum);
      }
    }
    ToByteOrderOf(plain_, to);
    return to;
  }

  [[nodiscard]] Result<ByteVector> Encode(ByteSpan plain) const override {
    const std::uint32_t from_size = plain_.type.size;
    const std::uint32_t to_size = stored_.type.size;
    if (plain.size() % from_size != 0)
      return NotWholeItems(ErrorCode::kInvalidArgument, kDelta, plain_, plain);
    const std::size_t count = plain.size() / from_size;
    const ByteVector from = InLittleEndian(plain, plain_);
    ByteVector to(count * to_size);
    if (plain_.type.kind == Kind::kFloat) {
      Differentiate(from, to);
    } else {
      std::uint64_t last = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t item = LoadBits(from.data() + i * from_size, from_size);
        // NumPy computes the difference in the type of the items, then converts it.
        const std::uint64_t difference = Truncate(item - last);
        StoreBits(to.data() + i * to_size, to_size, difference);
        last = item;
      }
    }
    ToByteOrderOf(stored_, to);
    return to;
  }

 private:
  [[nodiscard]] std::uint64_t Truncate(std::uint64_t value) const {
    const unsigned bits = 8 * plain_.type.size;
    return ExtendInteger(bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1),
                         plain_.type);
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
      const auto item = std::bit_cast<Real>(static_cast<Bits>(LoadBits(&from[at], sizeof(Bits))));
      sum = at == 0 ? item : sum + item;
      StoreBits(&to[at], sizeof(Bits), std::bit_cast<Bits>(sum));
    }
  }

  template <class Real, class Bits>
  static void Subtract(ByteSpan from, ByteVector& to) {
    Real last = 0;
    for (std::size_t at = 0; at < from.size(); at += sizeof(Bits)) {
      const auto item = std::bit_cast<Real>(static_cast<Bits>(LoadBits(&from[at], sizeof(Bits))));
      StoreBits(&to[at], sizeof(Bits), std::bit_cast<Bits>(at == 0 ? item : item - last));
      last = item;
    }
  }

  const std::string name_;
  const NumpyType plain_;
  const NumpyType stored_;
};

bool IsInteger(const DataType& type) {
  return type.kind == Kind::kSigned || type.kind == Kind::kUnsigned;
}

Result<std::optional<Filter>> MakeDelta(const std::string& name, const CodecOptions& options,
                                        const std::string& path) {
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType plain, ParseItemType(options, "dtype", {}, path));
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType stored, ParseItemType(options, "astype", plain, path));
  const bool integers = IsInteger(plain.type) && IsInteger(stored.type);
  const bool floats =
      plain.type.kind == Kind::kFloat && plain.type == stored.type && plain.type.size >= 4;
  if (!integers && !floats) {
    return Fail(ErrorCode::kNotSupported, path + ": delta of " + DataTypeName(plain.type) +
                                              " stored as " + DataTypeName(stored.type) +
                                              " is not supported");
  }
  // Differences of floats are rounded.
  return Filter{std::make_shared<Delta>(name, plain, stored), plain, stored,
                floats || stored.type.size < plain.type.size};
}

Result<std::optional<Filter>> MakeKnownFilter(const std::string& id, const std::string& name,
                                              const CodecOptions& options, const std::string& path,
                                              const std::optional<NumpyType>& items) {
  if (id == kDelta) return MakeDelta(name, options, path);
  if (id == "quantize") return MakeQuantize(name, options, path);
  if (id == "fixedscaleoffset") return MakeFixedScaleOffset(name, options, path);
  if (id == "astype") return MakeAsType(name, options, path);
  if (id == "packbits") return MakePackBits(name);
  if (id == "bitround") return MakeBitRound(name, items, options);
  return std::optional<Filter>();
}

}  // namespace

Result<std::optional<Filter>> MakeFilter(const std::string& id, const std::string& name,
                                         const JsonValue* configuration, const std::string& path,
                                         const std::optional<NumpyType>& items) {
  if (configuration != nullptr && configuration->is_null()) configuration = nullptr;
  UNSHARD_ASSIGN_OR_RETURN(
      auto filter, MakeKnownFilter(id, name, CodecOptions(configuration, path), path, items));
  if (!filter || !filter->plain || !items) return filter;
  // Booleans have one bit of their byte, and conversions change some bits of NaNs.
  const Kind plain = filter->plain->type.kind;
  filter->is_lossy |= (plain == Kind::kBool || plain == Kind::kFloat) && plain != items->type.kind;
  return filter;
}

}  // namespace unshard
