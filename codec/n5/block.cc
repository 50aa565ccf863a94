#include "codec/n5/block.h"

#include <algorithm>
#include <string>
#include <utility>

#include "codec/core/byte_range.h"
#include "codec/n5/compression.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMostExtent = 0xffffffff;

std::uint64_t LoadU16Be(const std::uint8_t* at) {
  return static_cast<std::uint64_t>(at[0]) << 8 | at[1];
}

std::uint64_t LoadU32Be(const std::uint8_t* at) { return LoadU16Be(at) << 16 | LoadU16Be(at + 2); }

void AppendU16Be(ByteVector& to, std::size_t value) {
  to.push_back(static_cast<std::uint8_t>(value >> 8));
  to.push_back(static_cast<std::uint8_t>(value));
}

void AppendU32Be(ByteVector& to, std::uint64_t value) {
  AppendU16Be(to, static_cast<std::size_t>(value >> 16));
  AppendU16Be(to, static_cast<std::size_t>(value));
}

tl::unexpected<Error> Damaged(const std::string& expected) {
  return Fail(ErrorCode::kDataLoss, "N5 block: " + expected);
}

std::string Text(std::span<const std::uint64_t> shape) {
  std::string text;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (!text.empty()) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return "[" + text + "]";
}

// The voxels in another shape: those outside of it are dropped, and those that it adds are 0.
Result<Voxels> Reshape(const Voxels& voxels, ShapeSpan shape) {
  const ByteVector zero(voxels.type().size);
  UNSHARD_ASSIGN_OR_RETURN(Voxels result,
                           Voxels::Filled(voxels.type(), {shape.begin(), shape.end()}, zero));
  if (voxels.bytes().empty() || result.bytes().empty()) return result;
  const Shape& from_shape = voxels.shape();
  const std::size_t item = zero.size();
  const std::size_t rank = shape.size();
  const std::size_t run =
      rank == 0 ? 1 : static_cast<std::size_t>(std::min(shape.back(), from_shape.back()));
  std::vector<std::uint64_t> position(rank, 0);
  for (;;) {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      from = from * from_shape[axis] + position[axis];
      to = to * shape[axis] + position[axis];
    }
    const std::uint8_t* const source = voxels.bytes().data() + from * item;
    std::copy(source, source + run * item, result.mutable_bytes().data() + to * item);
    std::size_t axis = rank > 0 ? rank - 1 : 0;  // the last one is copied in runs
    for (; axis > 0; --axis) {
      if (++position[axis - 1] < std::min(shape[axis - 1], from_shape[axis - 1])) break;
      position[axis - 1] = 0;
    }
    if (axis == 0) return result;
  }
}

struct BlockHeader {
  std::vector<std::uint64_t> shape;  // slowest axis first, the reverse of what the header says
  std::uint64_t item_count = 0;      // of mode 1; of mode 0 the product of `shape`
  std::size_t size = 0;              // bytes of the header
};

// Parses the header at the start of a block of an array of `rank` dimensions. Fails with kDataLoss
// where it is damaged, and with kNotSupported for mode 2, whose objects are no voxels.
Result<BlockHeader> ParseHeader(ByteSpan block, std::size_t rank) {
  if (block.size() < 4) {
    return Damaged("expected a header, found " + std::to_string(block.size()) + " bytes");
  }
  const std::uint64_t mode = LoadU16Be(block.data());
  if (mode == 2) {
    return Fail(ErrorCode::kNotSupported, "N5 block: mode 2 (objects) is not supported");
  }
  if (mode > 2) return Damaged("expected mode 0 or 1, found " + std::to_string(mode));
  const std::uint64_t dimensions = LoadU16Be(block.data() + 2);
  if (dimensions != rank) {
    return Damaged("expected " + std::to_string(rank) + " dimensions, found " +
                   std::to_string(dimensions));
  }
  BlockHeader header;
  header.size = 4 + 4 * rank + (mode == 1 ? 4 : 0);
  if (block.size() < header.size) {
    return Damaged("expected a header of " + std::to_string(header.size) + " bytes, found " +
                   std::to_string(block.size()) + " bytes");
  }
  for (std::size_t axis = rank; axis-- > 0;) {
    header.shape.push_back(LoadU32Be(block.data() + 4 + 4 * axis));
  }
  if (mode == 1) {
    header.item_count = LoadU32Be(block.data() + 4 + 4 * rank);
    return header;
  }
  const auto count = CheckedProduct(header.shape);
  if (!count) return Damaged("the extents " + Text(header.shape) + " are too large");
  header.item_count = *count;
  return header;
}

class N5ChunkCodec final : public ChunkCodec {
 public:
  N5ChunkCodec(ChunkCodecPtr items, std::optional<std::vector<std::uint64_t>> block_shape)
      : items_(std::move(items)),
        block_shape_(std::move(block_shape)),
        encoding_(items_->encoding()) {
    encoding_.n5_header = true;
  }

  [[nodiscard]] const DataType& type() const override { return items_->type(); }
  [[nodiscard]] const ChunkEncoding& encoding() const override { return encoding_; }
  [[nodiscard]] Status CanDecode() const override { return items_->CanDecode(); }
  [[nodiscard]] Status CanEncode() const override { return items_->CanEncode(); }

  [[nodiscard]] std::optional<std::uint64_t> EncodedSize(
      std::span<const std::uint64_t> shape) const override {
    const auto size = items_->EncodedSize(shape);
    return size ? CheckedAdd(*size, 4 + 4 * shape.size()) : std::nullopt;
  }

  [[nodiscard]] Result<Voxels> Decode(ByteSpan encoded,
                                      std::span<const std::uint64_t> shape) const override {
    UNSHARD_RETURN_IF_ERROR(VoxelBytes(type(), shape));
    const std::span<const std::uint64_t> most = block_shape_ ? *block_shape_ : shape;
    if (shape.size() != most.size()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "N5 block: expected a shape of " + std::to_string(most.size()) +
                      " dimensions, found " + std::to_string(shape.size()));
    }
    UNSHARD_ASSIGN_OR_RETURN(const BlockHeader header, ParseHeader(encoded, most.size()));
    for (std::size_t axis = 0; axis < most.size(); ++axis) {
      if (header.shape[axis] > most[axis]) {
        return Damaged("expected at most the block size " + Text(most) + ", found " +
                       Text(header.shape));
      }
    }
    if (header.item_count != CheckedProduct(header.shape)) {
      return Fail(ErrorCode::kNotSupported, "N5 block: expected one item for each voxel of " +
                                                Text(header.shape) + ", found " +
                                                std::to_string(header.item_count) + " items");
    }
    UNSHARD_ASSIGN_OR_RETURN(Voxels voxels,
                             items_->Decode(encoded.subspan(header.size), header.shape));
    if (std::equal(shape.begin(), shape.end(), header.shape.begin(), header.shape.end())) {
      return voxels;
    }
    return Reshape(voxels, shape);
  }

  [[nodiscard]] Result<ByteVector> Encode(Voxels voxels) const override {
    const auto fits = [](std::uint64_t extent, std::uint64_t most) {
      return extent > 0 && extent <= most && extent <= kMostExtent;
    };
    const Shape& shape = voxels.shape();
    const Shape& most = block_shape_ ? *block_shape_ : shape;
    if (!std::equal(shape.begin(), shape.end(), most.begin(), most.end(), fits)) {
      return Fail(ErrorCode::kInvalidArgument, "N5 block: expected at most the block size " +
                                                   Text(most) + ", found " + Text(shape));
    }
    ByteVector block = MakeN5BlockHeader(shape);
    UNSHARD_ASSIGN_OR_RETURN(const ByteVector payload, items_->Encode(std::move(voxels)));
    block.insert(block.end(), payload.begin(), payload.end());
    return block;
  }

 private:
  const ChunkCodecPtr items_;
  const std::optional<std::vector<std::uint64_t>> block_shape_;
  ChunkEncoding encoding_;
};

}  // namespace

ByteVector MakeN5BlockHeader(std::span<const std::uint64_t> shape) {
  ByteVector header;
  AppendU16Be(header, 0);
  AppendU16Be(header, shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) AppendU32Be(header, shape[axis]);
  return header;
}

ChunkCodecPtr MakeN5BlockCodec(ItemChain items,
                               std::optional<std::vector<std::uint64_t>> block_shape) {
  return std::make_shared<N5ChunkCodec>(MakeItemCodec(std::move(items)), std::move(block_shape));
}

Result<ChunkCodecPtr> MakeN5ChunkCodec(const JsonCursor& compression, const DataType& type,
                                       std::vector<std::uint64_t> block_shape) {
  ItemChain chain;
  chain.decoded.type = type;
  chain.big_endian = true;
  UNSHARD_ASSIGN_OR_RETURN(chain.bytes_steps, ParseN5Compression(compression, type.size));
  return MakeN5BlockCodec(std::move(chain), std::move(block_shape));
}

}  // namespace unshard
