// numcodecs' packbits: a byte with the number of unused bits at the end, then eight booleans a
// byte, the first one in the highest bit.
#include <array>
#include <memory>

#include "codec/codecs/codecs.h"
#include "codec/codecs/typed_codec.h"
#include "codec/core/byte_range.h"

namespace unshard {
namespace {

class PackBits final : public TypedCodec {
 public:
  PackBits(const CodecSpec& spec, const ArrayRepresentation& decoded)
      : TypedCodec(spec, {decoded.type, 1, decoded.big_endian},
                   {{{DataType::Kind::kBool, 1}}, {kUint8}}, true) {}

  [[nodiscard]] bool needs_exact_items() const override { return true; }

 protected:
  [[nodiscard]] Shape StoredShape(Shape plain) const override {
    const std::uint64_t count = CheckedProduct(plain).value_or(0);
    return {1 + count / 8 + (count % 8 != 0)};
  }

  [[nodiscard]] Result<Voxels> EncodeItems(Voxels plain) const override {
    const ByteSpan items = plain.bytes();
    const Shape shape = StoredShape(plain.shape());
    ByteVector stored(shape[0]);
    stored.front() = UnusedBits(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i] == 0) continue;
      stored[1 + i / 8] = static_cast<std::uint8_t>(stored[1 + i / 8] | 1U << (7 - i % 8));
    }
    return Voxels::Make(stored_type(), shape, std::move(stored));
  }

  [[nodiscard]] Result<Voxels> DecodeItems(Voxels stored, ShapeSpan plain) const override {
    const ByteSpan bytes = stored.bytes();
    ByteVector items(CheckedProduct(plain).value_or(0));
    const std::uint8_t unused = UnusedBits(items.size());
    if (bytes.front() != unused) {
      return Fail(ErrorCode::kDataLoss, name(), ": expected a first byte of ", unused,
                  ", the number of unused bits, found ", bytes.front());
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i] = static_cast<std::uint8_t>(bytes[1 + i / 8] >> (7 - i % 8) & 1);
    }
    return Voxels::Make(plain_type(), {plain.begin(), plain.end()}, std::move(items));
  }

 private:
  static std::uint8_t UnusedBits(std::size_t items) {
    return static_cast<std::uint8_t>((8 - items % 8) % 8);
  }
};

Result<ArrayCodecPtr> BindPackBits(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_RETURN_IF_ERROR(RefuseOtherSize(spec, decoded, {{DataType::Kind::kBool, 1}}));
  return std::make_shared<PackBits>(spec, decoded);
}

}  // namespace

const CodecDefinition& NumcodecsPackBitsCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "packbits"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindPackBits};
  return kDefinition;
}

}  // namespace unshard
