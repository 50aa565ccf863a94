// numcodecs' delta: the first item, then the difference of each item to the one before it.
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "codec/codecs/codecs.h"
#include "codec/codecs/item_values.h"
#include "codec/codecs/typed_codec.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

class Delta final : public TypedCodec {
 public:
  using TypedCodec::TypedCodec;

 protected:
  [[nodiscard]] Result<Voxels> EncodeItems(Voxels plain) const override {
    if (plain_type().kind == Kind::kFloat) {
      if (plain_type().size == 4) return Subtract<float>(std::move(plain));
      return Subtract<double>(std::move(plain));
    }
    // NumPy computes the difference in the type of the items, then converts it.
    const unsigned unused = 64 - 8 * plain_type().size;
    const bool is_signed = plain_type().kind == Kind::kSigned;
    std::uint64_t last = 0;
    return ConvertEach(plain, stored_type(), [&](std::uint64_t& bits) {
      const std::uint64_t difference = (bits - std::exchange(last, bits)) << unused;
      bits = is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(difference) >> unused)
                       : difference >> unused;
    });
  }

  [[nodiscard]] Result<Voxels> DecodeItems(Voxels stored, ShapeSpan /*plain*/) const override {
    if (plain_type().kind == Kind::kFloat) {
      if (plain_type().size == 4) return Sum<float>(std::move(stored));
      return Sum<double>(std::move(stored));
    }
    std::uint64_t sum = 0;
    return ConvertEach(stored, plain_type(), [&](std::uint64_t& bits) { bits = sum += bits; });
  }

 private:
  // Integers always fit: they keep their lower bits.
  template <class Compute>
  [[nodiscard]] Result<Voxels> ConvertEach(const Voxels& from, const DataType& to,
                                           const Compute& compute) const {
    const auto each = [&](ValueBlock& values) {
      for (std::size_t i = 0; i < values.count; ++i) compute(values.bits[i]);
    };
    return ConvertValues(from, to, each, ErrorCode::kInternal, name());
  }

  template <class Real>
  static Voxels Subtract(Voxels plain) {
    std::optional<Real> last;
    ReplaceItems<Real>(plain.mutable_bytes(), [&](Real item) {
      const Real difference = last ? item - *last : item;
      last = item;
      return difference;
    });
    return plain;
  }
  template <class Real>
  static Voxels Sum(Voxels stored) {
    std::optional<Real> sum;
    ReplaceItems<Real>(stored.mutable_bytes(), [&](Real item) {
      sum = sum ? *sum + item : item;
      return *sum;
    });
    return stored;
  }
};

Result<ArrayCodecPtr> BindDelta(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType plain, ParseItemType(spec, "dtype"));
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType stored, ParseItemType(spec, "astype", plain));
  const bool integers = IsInteger(plain.type) && IsInteger(stored.type);
  const bool floats =
      plain.type.kind == Kind::kFloat && plain.type == stored.type && plain.type.size >= 4;
  if (!integers && !floats) {
    return Fail(ErrorCode::kNotSupported, spec.configuration_path(), ": delta of ",
                DataTypeName(plain.type), " stored as ", DataTypeName(stored.type),
                " is not supported");
  }
  UNSHARD_RETURN_IF_ERROR(RefuseOtherSize(spec, decoded, plain));
  // Differences of floats are rounded.
  const bool is_lossless = integers && stored.type.size >= plain.type.size;
  return std::make_shared<Delta>(spec, decoded, FilterTypes{plain, stored}, is_lossless);
}

}  // namespace

const CodecDefinition& DeltaCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "delta"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindDelta};
  return kDefinition;
}

}  // namespace unshard
