// `bytes` of Zarr v3, `raw` of precomputed volumes and N5, and what other dialects do without
// naming it: items one after the other.
#include <memory>
#include <string_view>
#include <utility>

#include "codec/chain/codec_chain.h"
#include "codec/chain/transpose.h"
#include "codec/codecs/codecs.h"
#include "codec/core/byte_range.h"

namespace unshard {
namespace {

class ItemBytes final : public ArrayToBytesCodec {
 public:
  ItemBytes(const DataType& type, bool swaps, std::string_view subject)
      : type_(type), swaps_(swaps), subject_(subject) {}

  [[nodiscard]] std::optional<std::uint64_t> EncodedSize(ShapeSpan shape) const override {
    const auto size = VoxelBytes(type_, shape);
    return size ? std::optional(*size) : std::nullopt;
  }
  [[nodiscard]] std::uint32_t item_size() const override { return type_.size; }
  [[nodiscard]] std::string_view subject() const override { return subject_; }

  [[nodiscard]] Result<ByteVector> Encode(Voxels decoded) const override {
    ByteVector bytes = std::move(decoded).TakeBytes();
    if (swaps_) ReverseBytes(bytes, type_.ordered_size());
    return bytes;
  }
  [[nodiscard]] Result<Voxels> Decode(ByteSpan encoded, ShapeSpan shape) const override {
    return DecodeInPlace(ByteVector(encoded.begin(), encoded.end()), shape);
  }
  [[nodiscard]] Result<Voxels> DecodeInPlace(ByteVector encoded, ShapeSpan shape) const override {
    if (swaps_) ReverseBytes(encoded, type_.ordered_size());
    return Voxels::Make(type_, {shape.begin(), shape.end()}, std::move(encoded));
  }
  [[nodiscard]] JsonValue DecodingKey() const override {
    return JsonValue::String(swaps_ ? "big-endian bytes" : "bytes");
  }

 private:
  const DataType type_;
  const bool swaps_;
  const std::string_view subject_;
};

// Items that the codecs before it give big-endian, as filters of numcodecs may, are stored so
// where little-endian ones are asked for: numcodecs takes bytes as they are.
Result<ArrayToBytesCodecPtr> BindBytes(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(const bool big_endian, IsBigEndian(spec));
  const bool swaps = big_endian != decoded.big_endian && decoded.type.ordered_size() > 1;
  return std::make_shared<ItemBytes>(decoded.type, swaps,
                                     spec.dialect == Dialect::kPrecomputed ? "raw chunk" : "chunk");
}

}  // namespace

const CodecDefinition& BytesCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr3, "bytes", kInSchemas},
                                                     {Dialect::kPrecomputed, "raw", kInSchemas},
                                                     {Dialect::kN5, "raw", kInSchemas}};
  static constexpr std::string_view kOrders[] = {"little", "big"};
  static constexpr CodecOption::Spelling kEndian[] = {
      {.dialect = Dialect::kZarr3, .created = 0, .has_default = false}};
  static constexpr CodecOption kOptions[] = {
      {.name = "endian",
       .spellings = kEndian,
       .words = kOrders,
       .only_in = Dialect::kZarr3,
       .is_used = [](const JsonValue& /*options*/, std::uint32_t item_size) {
         return item_size != 1;
       }}};
  static constexpr CodecDefinition kDefinition{kNames, &BindBytes, kOptions};
  return kDefinition;
}

}  // namespace unshard
