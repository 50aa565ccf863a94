#include "codec/codecs/transpose.h"

#include <memory>
#include <string>
#include <utility>

#include "codec/chain/transpose.h"

namespace unshard {
namespace {

class TransposeCodec final : public ArrayToArrayCodec {
 public:
  TransposeCodec(std::vector<std::size_t> order, const ArrayRepresentation& decoded)
      : order_(std::move(order)), inverse_(InverseOrder(order_)), decoded_(decoded) {}

  [[nodiscard]] const ArrayRepresentation& encoded() const override { return decoded_; }
  [[nodiscard]] Dependence dependence() const override { return Permutes{order_}; }
  [[nodiscard]] bool is_lossless() const override { return true; }

  [[nodiscard]] Result<Shape> EncodedShape(ShapeSpan decoded) const override {
    if (decoded.size() == order_.size()) {
      return Transposed(Shape(decoded.begin(), decoded.end()), order_);
    }
    return Fail(ErrorCode::kInvalidArgument,
                "expected a chunk of " + std::to_string(order_.size()) + " dimensions, found " +
                    std::to_string(decoded.size()));
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

}  // namespace

ArrayCodecPtr MakeTransposeCodec(std::vector<std::size_t> order,
                                 const ArrayRepresentation& decoded) {
  return std::make_shared<TransposeCodec>(std::move(order), decoded);
}

}  // namespace unshard
