// Rearranges the axes of a chunk: `transpose` of Zarr v3, the order "F" of Zarr v2. Dimension i of
// the encoded chunk is axis order[i].
#include <memory>
#include <utility>

#include "codec/chain/codec_spec.h"
#include "codec/chain/transpose.h"
#include "codec/codecs/codecs.h"

namespace unshard {
namespace {

class Rearrange final : public ArrayToArrayCodec {
 public:
  Rearrange(std::vector<std::size_t> order, const ArrayRepresentation& decoded)
      : order_(std::move(order)), inverse_(InverseOrder(order_)), decoded_(decoded) {}

  [[nodiscard]] const ArrayRepresentation& encoded() const override { return decoded_; }
  [[nodiscard]] std::vector<std::size_t> order() const override { return order_; }

  [[nodiscard]] Result<Shape> EncodedShape(ShapeSpan decoded) const override {
    if (decoded.size() == order_.size()) {
      return Transposed(Shape(decoded.begin(), decoded.end()), order_);
    }
    return Fail(ErrorCode::kInvalidArgument, "expected a chunk of ", order_.size(),
                " dimensions, found ", decoded.size());
  }
  [[nodiscard]] Result<Voxels> Encode(Voxels decoded) const override {
    return Transpose(decoded, order_);
  }
  [[nodiscard]] Result<Voxels> Decode(Voxels encoded, ShapeSpan /*decoded*/) const override {
    return Transpose(encoded, inverse_);
  }

 private:
  const std::vector<std::size_t> order_;
  const std::vector<std::size_t> inverse_;
  const ArrayRepresentation decoded_;
};

Result<ArrayCodecPtr> BindTranspose(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(auto order, TransposeOrder(spec, decoded.rank));
  return std::make_shared<Rearrange>(std::move(order), decoded);
}

}  // namespace

const CodecDefinition& TransposeCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr3, "transpose", kInSchemas}};
  static constexpr CodecOption kOptions[] = {{"order"}};
  static constexpr CodecDefinition kDefinition{.names = kNames,
                                               .bind = &BindTranspose,
                                               .options = kOptions,
                                               .dependence = Dependence::kMovedItem,
                                               .keeps_zero = true};
  return kDefinition;
}

}  // namespace unshard
