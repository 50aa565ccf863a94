#include "codec/voxel/item_codec.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "codec/chain/transpose.h"
#include "codec/core/byte_range.h"
#include "codec/json/writer.h"

namespace unshard {
namespace {

// Compressors add headers: the bytes between two of them may exceed those of the items by this
// factor, and this many bytes.
constexpr std::uint64_t kMostGrowth = 16;
constexpr std::uint64_t kSlack = std::uint64_t{64} << 10;

std::string OrderText(const std::vector<std::size_t>& order) {
  std::string text;
  for (const std::size_t axis : order) text += " " + std::to_string(axis);
  return text;
}

ChunkEncoding DescribeChain(const ItemChain& chain, bool big_endian) {
  ChunkEncoding encoding;
  encoding.big_endian = big_endian;
  std::vector<std::size_t> order;
  for (const ArrayStep& step : chain.array_steps) {
    const Dependence dependence = step.codec->dependence();
    if (const auto* const permutes = std::get_if<Permutes>(&dependence)) {
      order = order.empty() ? permutes->order : Transposed(order, permutes->order);
      continue;
    }
    if (encoding.items == "raw" && chain.decoded.big_endian) encoding.items += ", big-endian";
    if (!IsIdentity(order)) encoding.items += ", transpose" + OrderText(order);
    order.clear();
    encoding.items += ", " + step.key;
  }
  if (chain.packing) encoding.items += ", packbits " + WriteJson(chain.packing_configuration, 0);
  if (!IsIdentity(order)) encoding.order = std::move(order);
  for (const BytesStep& step : chain.bytes_steps) {
    encoding.steps.push_back({step.codec->name(), step.configuration});
  }
  return encoding;
}

class ItemCodec final : public ChunkCodec {
 public:
  explicit ItemCodec(ItemChain chain) : chain_(std::move(chain)), stored_(chain_.encoded()) {
    swaps_ = chain_.big_endian != stored_.big_endian && stored_.type.ordered_size() > 1;
    encoding_ = DescribeChain(chain_, swaps_);
  }

  [[nodiscard]] const DataType& type() const override { return chain_.decoded.type; }
  [[nodiscard]] const ChunkEncoding& encoding() const override { return encoding_; }
  [[nodiscard]] bool is_lossy() const override {
    return (chain_.packing && chain_.packing->is_lossy()) ||
           AnyArrayCodec([](const auto& codec) { return !codec.is_lossless(); });
  }

  [[nodiscard]] Status CanDecode() const override {
    for (const BytesStep& step : chain_.bytes_steps) {
      UNSHARD_RETURN_IF_ERROR(step.codec->CanDecode());
    }
    return {};
  }

  [[nodiscard]] Status CanEncode() const override {
    for (const ArrayStep& step : chain_.array_steps) {
      UNSHARD_RETURN_IF_ERROR(step.codec->CanEncode());
    }
    for (const BytesStep& step : chain_.bytes_steps) {
      UNSHARD_RETURN_IF_ERROR(step.codec->CanEncode());
    }
    return {};
  }

  [[nodiscard]] std::optional<std::uint64_t> EncodedSize(ShapeSpan shape) const override {
    const auto shapes = ShapesOf(shape);
    if (!shapes) return std::nullopt;
    const auto items = StoredSize(shapes->back());
    std::optional<std::uint64_t> size = items ? std::optional(*items) : std::nullopt;
    for (const BytesStep& step : chain_.bytes_steps) {
      const auto overhead = step.codec->fixed_overhead();
      size = size && overhead ? CheckedAdd(*size, *overhead) : std::nullopt;
    }
    return size;
  }

  [[nodiscard]] Result<Voxels> Decode(ByteSpan encoded, ShapeSpan shape) const override {
    UNSHARD_RETURN_IF_ERROR(VoxelBytes(type(), shape));
    UNSHARD_ASSIGN_OR_RETURN(std::vector<Shape> shapes, ShapesOf(shape));
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t size, StoredSize(shapes.back()));
    UNSHARD_ASSIGN_OR_RETURN(ByteVector bytes, DecodeSteps(encoded, size));
    UNSHARD_RETURN_IF_ERROR(ExpectSize(bytes.size(), size));
    if (chain_.packing) {
      UNSHARD_ASSIGN_OR_RETURN(
          bytes, chain_.packing->Unpack(bytes, CheckedProduct(shapes.back()).value_or(0)));
    }
    if (swaps_) ReverseBytes(bytes, stored_.type.ordered_size());
    UNSHARD_ASSIGN_OR_RETURN(
        Voxels voxels, Voxels::Make(stored_.type, std::move(shapes.back()), std::move(bytes)));
    for (std::size_t i = chain_.array_steps.size(); i-- > 0;) {
      UNSHARD_ASSIGN_OR_RETURN(voxels,
                               chain_.array_steps[i].codec->Decode(std::move(voxels), shapes[i]));
      UNSHARD_RETURN_IF_ERROR(ExpectDeclared(voxels, i, shapes[i]));
    }
    return voxels;
  }

  [[nodiscard]] Result<ByteVector> Encode(Voxels voxels) const override {
    UNSHARD_RETURN_IF_ERROR(RefuseOtherType(voxels, type()));
    UNSHARD_RETURN_IF_ERROR(CanEncode());
    UNSHARD_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, ShapesOf(voxels.shape()));
    for (std::size_t i = 0; i < chain_.array_steps.size(); ++i) {
      UNSHARD_ASSIGN_OR_RETURN(voxels, chain_.array_steps[i].codec->Encode(std::move(voxels)));
      UNSHARD_RETURN_IF_ERROR(ExpectDeclared(voxels, i + 1, shapes[i + 1]));
    }
    ByteVector bytes = std::move(voxels).TakeBytes();
    if (swaps_) ReverseBytes(bytes, stored_.type.ordered_size());
    if (chain_.packing) bytes = chain_.packing->Pack(bytes);
    for (const BytesStep& step : chain_.bytes_steps) {
      UNSHARD_ASSIGN_OR_RETURN(bytes, step.codec->Encode(bytes));
    }
    if (AnyArrayCodec([](const auto& codec) { return codec.may_refuse_encoded(); })) {
      UNSHARD_RETURN_IF_ERROR(ProveDecoding(bytes, shapes.front()));
    }
    return bytes;
  }

 private:
  template <class Test>
  [[nodiscard]] bool AnyArrayCodec(const Test& test) const {
    return std::any_of(chain_.array_steps.begin(), chain_.array_steps.end(),
                       [&](const ArrayStep& step) { return test(*step.codec); });
  }

  // The shape of a chunk before each array codec, and after the last one.
  [[nodiscard]] Result<std::vector<Shape>> ShapesOf(ShapeSpan shape) const {
    std::vector<Shape> shapes;
    shapes.reserve(chain_.array_steps.size() + 1);
    shapes.emplace_back(shape.begin(), shape.end());
    for (const ArrayStep& step : chain_.array_steps) {
      UNSHARD_ASSIGN_OR_RETURN(Shape next, step.codec->EncodedShape(shapes.back()));
      shapes.push_back(std::move(next));
    }
    return shapes;
  }

  // The bytes before the bytes-to-bytes codecs, of a chunk that array codecs give this shape.
  [[nodiscard]] Result<std::uint64_t> StoredSize(const Shape& shape) const {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t bytes, VoxelBytes(stored_.type, shape));
    return chain_.packing ? chain_.packing->PackedSize(bytes / stored_.type.size) : bytes;
  }

  // That the first `count` array codecs give, or take, voxels of the type and the shape that they
  // have declared.
  [[nodiscard]] Status ExpectDeclared(const Voxels& voxels, std::size_t count,
                                      const Shape& shape) const {
    const DataType& declared =
        count == 0 ? type() : chain_.array_steps[count - 1].codec->encoded().type;
    if (voxels.type() == declared && voxels.shape() == shape) return {};
    return Fail(ErrorCode::kInternal, "expected items of " + DataTypeName(declared) + " after " +
                                          std::to_string(count) + " codecs, found " +
                                          DataTypeName(voxels.type()) + " or another shape");
  }

  [[nodiscard]] Status ProveDecoding(ByteSpan encoded, ShapeSpan shape) const {
    const auto decoded = Decode(encoded, shape);
    if (decoded) return {};
    return Fail(ErrorCode::kInvalidArgument,
                "the codecs would store these voxels in a form that cannot be read back: " +
                    decoded.error().message);
  }

  static Status ExpectSize(std::uint64_t found, std::uint64_t expected) {
    if (found == expected) return {};
    return Fail(ErrorCode::kDataLoss, "expected a chunk that decodes to " +
                                          std::to_string(expected) + " bytes, found " +
                                          std::to_string(found));
  }

  // Decodes the bytes-to-bytes codecs, to `size` bytes.
  [[nodiscard]] Result<ByteVector> DecodeSteps(ByteSpan encoded, std::uint64_t size) const {
    const std::uint64_t most = kMostGrowth * size + kSlack;
    if (chain_.bytes_steps.empty()) {
      // Before the copy, so that a file of a wrong size takes no memory.
      UNSHARD_RETURN_IF_ERROR(ExpectSize(encoded.size(), size));
      return ByteVector(encoded.begin(), encoded.end());
    }
    ByteVector bytes;
    for (std::size_t i = chain_.bytes_steps.size(); i-- > 0;) {
      UNSHARD_ASSIGN_OR_RETURN(ByteVector next,
                               chain_.bytes_steps[i].codec->Decode(encoded, i == 0 ? size : most));
      bytes = std::move(next);
      encoded = bytes;
    }
    return bytes;
  }

  const ItemChain chain_;
  const ArrayRepresentation stored_;  // what the array codecs give
  bool swaps_ = false;                // whether items are stored big-endian
  ChunkEncoding encoding_;
};

}  // namespace

ChunkCodecPtr MakeItemCodec(ItemChain chain) {
  return std::make_shared<ItemCodec>(std::move(chain));
}

}  // namespace unshard
