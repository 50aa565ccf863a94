// reshape (zarr-extensions, codecs/reshape): the items of a chunk keep their C order, and get other
// dimensions. An entry of `shape` is a size; -1, once, for what is left; or a list of dimensions of
// the chunk, whose sizes are multiplied. All dimensions that are listed together are in order.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/chain/codec_spec.h"
#include "codec/codecs/codecs.h"
#include "codec/core/byte_range.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxReshapedExtent = ~std::uint64_t{0} >> 1;

// A dimension of an encoded chunk: a size, or the dimensions of the chunk; without both, what is
// left.
struct ReshapedDimension {
  std::optional<std::uint64_t> size;
  std::vector<std::size_t> from;
};

class ReshapeItems final : public ArrayToArrayCodec {
 public:
  ReshapeItems(std::string name, const DataType& type, std::vector<ReshapedDimension> dimensions)
      : name_(std::move(name)),
        dimensions_(std::move(dimensions)),
        encoded_{type, dimensions_.size()} {}

  [[nodiscard]] const ArrayRepresentation& encoded() const override { return encoded_; }
  [[nodiscard]] Result<Shape> EncodedShape(ShapeSpan decoded) const override {
    Shape shape;
    std::optional<std::size_t> left_over;
    for (const ReshapedDimension& each : dimensions_) {
      if (!each.size && each.from.empty()) left_over = shape.size();
      std::uint64_t size = each.size.value_or(1);
      for (const std::size_t d : each.from) size *= decoded[d];
      shape.push_back(size);
    }
    const auto items = CheckedProduct(decoded), reshaped = CheckedProduct(shape);
    if (left_over && items && reshaped && *reshaped != 0 && *items % *reshaped == 0) {
      shape[*left_over] = *items / *reshaped;
      return shape;
    }
    if (!left_over && items == reshaped) return shape;
    return Fail(ErrorCode::kInvalidArgument, name_, ": `shape` does not have the ",
                items.value_or(0), " items of a chunk");
  }
  [[nodiscard]] Result<Voxels> Encode(Voxels decoded) const override {
    UNSHARD_ASSIGN_OR_RETURN(Shape shape, EncodedShape(decoded.shape()));
    return Voxels::Make(encoded_.type, std::move(shape), std::move(decoded).TakeBytes());
  }
  [[nodiscard]] Result<Voxels> Decode(Voxels encoded, ShapeSpan decoded) const override {
    return Voxels::Make(encoded_.type, {decoded.begin(), decoded.end()},
                        std::move(encoded).TakeBytes());
  }

 private:
  const std::string name_;
  const std::vector<ReshapedDimension> dimensions_;
  const ArrayRepresentation encoded_;
};

Result<ReshapedDimension> ParseDimension(const JsonCursor& entry, std::size_t rank) {
  ReshapedDimension dimension;
  if (!entry.value().is_array()) {
    UNSHARD_ASSIGN_OR_RETURN(const std::int64_t size,
                             entry.Integer(-1, static_cast<std::int64_t>(kMaxReshapedExtent)));
    if (size == 0) return entry.Expected("a size of 1 or more, or -1");
    if (size > 0) dimension.size = static_cast<std::uint64_t>(size);
    return dimension;
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto items, entry.Items());
  if (items.empty()) dimension.size = 1;
  for (const JsonCursor& item : items) {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t from, item.Unsigned(0, rank == 0 ? 0 : rank - 1));
    if (from >= rank) return item.Expected("a dimension of the chunk, which has none");
    dimension.from.push_back(from);
  }
  return dimension;
}

Result<ArrayCodecPtr> BindReshape(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor shape, spec.options().Member("shape"));
  UNSHARD_ASSIGN_OR_RETURN(const auto entries, shape.Items(64));
  std::vector<ReshapedDimension> dimensions;
  std::optional<std::size_t> last;
  bool has_left_over = false;
  for (const JsonCursor& entry : entries) {
    UNSHARD_ASSIGN_OR_RETURN(ReshapedDimension dimension, ParseDimension(entry, decoded.rank));
    const bool is_left_over = !dimension.size && dimension.from.empty();
    if (is_left_over && std::exchange(has_left_over, true)) return entry.Expected("-1 only once");
    for (const std::size_t from : dimension.from) {
      if (last && from <= *last) return entry.Expected("each dimension once, in order");
      last = from;
    }
    dimensions.push_back(std::move(dimension));
  }
  return std::make_shared<ReshapeItems>(spec.name, decoded.type, std::move(dimensions));
}

}  // namespace

const CodecDefinition& ReshapeCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr3, "reshape"}};
  static constexpr CodecDefinition kDefinition{.names = kNames, .bind = &BindReshape};
  return kDefinition;
}

}  // namespace unshard
