#include "codec/voxel/item_codec.h"

#include <string>
#include <utility>

#include "codec/core/byte_range.h"
#include "codec/json/writer.h"
#include "codec/voxel/transpose.h"

namespace unshard {
namespace {

// Filters may change the size of items, and compressors add headers: the bytes between two steps
// may exceed those of the voxels by this factor, and this many bytes.
constexpr std::uint64_t kMostGrowth = 16;
constexpr std::uint64_t kSlack = std::uint64_t{64} << 10;

// The items at one place of a chain.
struct Items {
  DataType type;
  std::uint64_t count;

  [[nodiscard]] std::uint64_t bytes() const { return count * type.size; }
  void Encode(const Filter& filter) {
    if (filter.packs_bits) count = PackedBitsSize(bytes());
    if (filter.stored) type = filter.stored->type;
  }
};

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
    if (step.filter) {
      if (!IsIdentity(order)) encoding.items += ", transpose" + OrderText(order);
      order.clear();
      encoding.items += ", " + step.filter->codec->name();
      if (!step.filter_configuration.is_null()) {
        encoding.items += " " + WriteJson(step.filter_configuration, 0);
      }
    } else {
      order = order.empty() ? step.order : Transposed(order, step.order);
    }
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
  explicit ItemCodec(ItemChain chain) : chain_(std::move(chain)) {
    ordered_size_ = ItemsAfter(chain_.array_steps.size(), 0).type.ordered_size();
    swaps_ = chain_.big_endian && ordered_size_ > 1;
    encoding_ = DescribeChain(chain_, swaps_);
  }

  [[nodiscard]] const DataType& type() const override { return chain_.type; }
  [[nodiscard]] const ChunkEncoding& encoding() const override { return encoding_; }
  [[nodiscard]] bool is_lossy() const override { return chain_.is_lossy; }

  [[nodiscard]] Status CanDecode() const override {
    for (const BytesStep& step : chain_.bytes_steps) {
      UNSHARD_RETURN_IF_ERROR(step.codec->CanDecode());
    }
    return {};
  }

  [[nodiscard]] Status CanEncode() const override {
    for (const ArrayStep& step : chain_.array_steps) {
      if (step.filter) UNSHARD_RETURN_IF_ERROR(step.filter->codec->CanEncode());
    }
    for (const BytesStep& step : chain_.bytes_steps) {
      UNSHARD_RETURN_IF_ERROR(step.codec->CanEncode());
    }
    return {};
  }

  [[nodiscard]] std::optional<std::uint64_t> EncodedSize(
      std::span<const std::uint64_t> shape) const override {
    const auto items = VoxelBytes(chain_.type, shape);
    std::optional<std::uint64_t> size = items ? std::optional(StoredSize(*items)) : std::nullopt;
    for (const BytesStep& step : chain_.bytes_steps) {
      const auto overhead = step.codec->fixed_overhead();
      size = size && overhead ? CheckedAdd(*size, *overhead) : std::nullopt;
    }
    return size;
  }

  [[nodiscard]] Result<Voxels> Decode(ByteSpan encoded,
                                      std::span<const std::uint64_t> shape) const override {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t size, VoxelBytes(chain_.type, shape));
    UNSHARD_RETURN_IF_ERROR(CheckRank(shape.size()));
    const std::uint64_t stored_size = StoredSize(size);
    UNSHARD_ASSIGN_OR_RETURN(ByteVector items, DecodeSteps(encoded, stored_size));
    UNSHARD_RETURN_IF_ERROR(ExpectSize(items.size(), stored_size));
    if (chain_.packing) {
      const Items packed = ItemsAfter(chain_.array_steps.size(), size);
      UNSHARD_ASSIGN_OR_RETURN(items, chain_.packing->Unpack(items, packed.count));
    }
    if (swaps_) ReverseBytes(items, ordered_size_);
    return DecodeArray(std::move(items), shape, size);
  }

  [[nodiscard]] Result<ByteVector> Encode(Voxels voxels) const override {
    UNSHARD_RETURN_IF_ERROR(RefuseOtherType(voxels, chain_.type));
    UNSHARD_RETURN_IF_ERROR(CheckRank(voxels.shape().size()));
    UNSHARD_RETURN_IF_ERROR(CanEncode());
    const Shape shape = voxels.shape();
    UNSHARD_ASSIGN_OR_RETURN(ByteVector bytes, EncodeArray(std::move(voxels)));
    if (chain_.packing) bytes = chain_.packing->Pack(bytes);
    if (swaps_) ReverseBytes(bytes, ordered_size_);
    for (const BytesStep& step : chain_.bytes_steps) {
      UNSHARD_ASSIGN_OR_RETURN(bytes, step.codec->Encode(bytes));
    }
    if (chain_.may_refuse_stored) UNSHARD_RETURN_IF_ERROR(ProveDecoding(bytes, shape));
    return bytes;
  }

 private:
  // The items after the first `steps` array-to-array codecs, of `size` bytes of voxels.
  [[nodiscard]] Items ItemsAfter(std::size_t steps, std::uint64_t size) const {
    Items items{chain_.type, size / chain_.type.size};
    for (std::size_t i = 0; i < steps; ++i) {
      if (chain_.array_steps[i].filter) items.Encode(*chain_.array_steps[i].filter);
    }
    return items;
  }

  // The size of the items before the bytes-to-bytes codecs, of `size` bytes of voxels.
  [[nodiscard]] std::uint64_t StoredSize(std::uint64_t size) const {
    const Items items = ItemsAfter(chain_.array_steps.size(), size);
    return chain_.packing ? chain_.packing->PackedSize(items.count) : items.bytes();
  }

  [[nodiscard]] Status ProveDecoding(ByteSpan encoded, std::span<const std::uint64_t> shape) const {
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

  [[nodiscard]] Status CheckRank(std::size_t rank) const {
    for (const ArrayStep& step : chain_.array_steps) {
      if (step.filter || step.order.size() == rank) continue;
      return Fail(ErrorCode::kInvalidArgument, "expected a chunk of " +
                                                   std::to_string(step.order.size()) +
                                                   " dimensions, found " + std::to_string(rank));
    }
    return {};
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

  // The shapes before the array-to-array codecs, and after the last one. Items that are packed bits
  // are one row of bytes.
  [[nodiscard]] std::vector<Shape> ShapesOf(ShapeSpan shape, std::uint64_t size) const {
    std::vector<Shape> shapes{{shape.begin(), shape.end()}};
    for (const ArrayStep& step : chain_.array_steps) {
      const Shape& last = shapes.back();
      if (!step.filter) {
        shapes.push_back(Transposed(last, step.order));
      } else if (step.filter->packs_bits) {
        shapes.push_back({ItemsAfter(shapes.size(), size).count});
      } else {
        shapes.push_back(last);
      }
    }
    return shapes;
  }

  [[nodiscard]] Result<ByteVector> EncodeArray(Voxels voxels) const {
    const std::uint64_t size = voxels.bytes().size();
    const std::vector<Shape> shapes = ShapesOf(voxels.shape(), size);
    for (std::size_t i = 0; i < chain_.array_steps.size(); ++i) {
      const ArrayStep& step = chain_.array_steps[i];
      if (step.filter) {
        UNSHARD_ASSIGN_OR_RETURN(ByteVector items, step.filter->codec->Encode(voxels.bytes()));
        UNSHARD_ASSIGN_OR_RETURN(
            voxels, Voxels::Make(ItemsAfter(i + 1, size).type, shapes[i + 1], std::move(items)));
      } else {
        UNSHARD_ASSIGN_OR_RETURN(voxels, Transpose(voxels, step.order));
      }
    }
    return std::move(voxels).TakeBytes();
  }

  // `items`: what the array-to-array codecs have made of `size` bytes of voxels.
  [[nodiscard]] Result<Voxels> DecodeArray(ByteVector items, ShapeSpan shape,
                                           std::uint64_t size) const {
    const std::size_t steps = chain_.array_steps.size();
    const std::vector<Shape> shapes = ShapesOf(shape, size);
    UNSHARD_ASSIGN_OR_RETURN(
        Voxels voxels, Voxels::Make(ItemsAfter(steps, size).type, shapes[steps], std::move(items)));
    for (std::size_t i = steps; i-- > 0;) {
      const ArrayStep& step = chain_.array_steps[i];
      const Items decoded = ItemsAfter(i, size);
      if (step.filter) {
        UNSHARD_ASSIGN_OR_RETURN(ByteVector plain,
                                 step.filter->codec->Decode(voxels.bytes(), decoded.bytes()));
        UNSHARD_RETURN_IF_ERROR(ExpectSize(plain.size(), decoded.bytes()));
        UNSHARD_ASSIGN_OR_RETURN(voxels, Voxels::Make(decoded.type, shapes[i], std::move(plain)));
      } else {
        UNSHARD_ASSIGN_OR_RETURN(voxels, Transpose(voxels, InverseOrder(step.order)));
      }
    }
    return voxels;
  }

  ItemChain chain_;
  bool swaps_ = false;
  std::uint32_t ordered_size_ = 1;  // of the items after the array-to-array codecs
  ChunkEncoding encoding_;
};

}  // namespace

ChunkCodecPtr MakeItemCodec(ItemChain chain) {
  return std::make_shared<ItemCodec>(std::move(chain));
}

}  // namespace unshard
