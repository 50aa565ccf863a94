// A header of big-endian numbers, then the items, encoded by a chain of their own: in N5 big-endian
// ones and at most one compressor; in `n5_default` of Zarr v3 the same after a transpose that
// reverses all axes. codec/FORMATS.md, "Chunks of Zarr and N5 arrays".
#include "codec/codecs/n5_block.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "codec/chain/codec_chain.h"
#include "codec/chain/codec_spelling.h"
#include "codec/chain/transpose.h"
#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"
#include "codec/core/byte_range.h"
#include "codec/core/strided_copy.h"
#include "codec/core/text.h"
#include "codec/json/number.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMaxBlockExtent = 0xffffffff;

constexpr const char* kN5Block = "N5 block";

Shape ReversedShape(ShapeSpan shape) { return {shape.rbegin(), shape.rend()}; }

// As N5 lists it, fastest axis first.
std::string ListedShape(ShapeSpan shape) { return ShapeText(ReversedShape(shape)); }

// The voxels in another shape: those outside of it are dropped, and those that it adds are 0.
Result<Voxels> Reshape(const Voxels& voxels, ShapeSpan shape) {
  const ByteVector zero(voxels.type().size);
  UNSHARD_ASSIGN_OR_RETURN(Voxels result,
                           Voxels::Filled(voxels.type(), {shape.begin(), shape.end()}, zero));
  const auto from_strides = StridesOf(voxels.shape(), zero.size());
  const auto to_strides = StridesOf(shape, zero.size());
  std::vector<StridedAxis> axes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    axes.push_back(
        {std::min(shape[axis], voxels.shape()[axis]), from_strides[axis], to_strides[axis]});
  }
  CopyStrided(voxels.bytes().data(), result.mutable_bytes().data(), axes, zero.size());
  return result;
}

struct N5Header {
  Shape shape;                   // slowest axis first; the header lists the fastest axis first
  std::uint64_t item_count = 0;  // of mode 1; of mode 0 the product of `shape`
  std::size_t size = 0;          // bytes of the header
};

// Parses the header at the start of a block of an array of `rank` dimensions. Fails with kDataLoss
// where it is damaged, and with kNotSupported for mode 2, whose objects are no voxels.
Result<N5Header> ParseHeader(ByteSpan block, std::size_t rank) {
  if (block.size() < 4) {
    return Damaged(kN5Block, "expected a header, found ", block.size(), " bytes");
  }
  const std::uint64_t mode = LoadU16Be(block.data());
  if (mode == 2) {
    return Fail(ErrorCode::kNotSupported, "N5 block: mode 2 (objects) is not supported");
  }
  if (mode > 2) return Damaged(kN5Block, "expected mode 0 or 1, found ", mode);
  const std::uint64_t dimensions = LoadU16Be(block.data() + 2);
  if (dimensions != rank) {
    return Damaged(kN5Block, "expected ", rank, " dimensions, found ", dimensions);
  }
  N5Header header;
  header.size = 4 + 4 * rank + (mode == 1 ? 4 : 0);
  if (block.size() < header.size) {
    return Damaged(kN5Block, "expected a header of ", header.size, " bytes, found ", block.size(),
                   " bytes");
  }
  for (std::size_t axis = rank; axis-- > 0;) {
    header.shape.push_back(LoadU32Be(block.data() + 4 + 4 * axis));
  }
  const auto count = CheckedProduct(header.shape);
  if (mode == 1) header.item_count = LoadU32Be(block.data() + 4 + 4 * rank);
  if (mode == 0 && !count) {
    return Damaged(kN5Block, "the extents ", ListedShape(header.shape), " are too large");
  }
  if (mode == 0) header.item_count = *count;
  if (header.item_count == count) return header;
  return Fail(ErrorCode::kNotSupported, "N5 block: expected one item for each voxel of ",
              ListedShape(header.shape), ", found ", header.item_count, " items");
}

// How an array has the axes of its blocks.
struct BlockAxes {
  // The most that a block may have, slowest axis of the block first; nothing: the shape that is
  // asked for.
  std::optional<Shape> max_shape;
  // Whether the first axis of the array is the fastest one of a block, as in Zarr v3.
  bool are_reversed = false;
};

class N5Block final : public ArrayToBytesCodec {
 public:
  // `items` gives and takes voxels with the axes of the array.
  N5Block(ChunkCodecPtr items, BlockAxes axes) : items_(std::move(items)), axes_(std::move(axes)) {}

  [[nodiscard]] Status CanDecode() const override { return items_->CanDecode(); }
  [[nodiscard]] Status CanEncode() const override { return items_->CanEncode(); }

  [[nodiscard]] std::optional<std::uint64_t> EncodedSize(ShapeSpan shape) const override {
    const auto size = items_->EncodedSize(shape);
    return size ? CheckedAdd(*size, 4 + 4 * shape.size()) : std::nullopt;
  }
  // A block may be stored with another shape.
  [[nodiscard]] bool has_fixed_size() const override { return false; }

  [[nodiscard]] Result<Voxels> Decode(ByteSpan encoded, ShapeSpan shape) const override {
    const Shape wanted = InBlock(shape);
    const Shape& most = axes_.max_shape ? *axes_.max_shape : wanted;
    if (shape.size() != most.size()) {
      return Fail(ErrorCode::kInvalidArgument, "N5 block: expected a shape of ", most.size(),
                  " dimensions, found ", shape.size());
    }
    UNSHARD_ASSIGN_OR_RETURN(const N5Header header, ParseHeader(encoded, most.size()));
    for (std::size_t axis = 0; axis < most.size(); ++axis) {
      if (header.shape[axis] > most[axis]) {
        return Damaged(kN5Block, "expected at most the block size ", ListedShape(most), ", found ",
                       ListedShape(header.shape));
      }
    }
    UNSHARD_ASSIGN_OR_RETURN(Voxels voxels,
                             items_->Decode(encoded.subspan(header.size), InBlock(header.shape)));
    if (header.shape == wanted) return voxels;
    return Reshape(voxels, shape);
  }

  [[nodiscard]] Result<ByteVector> Encode(Voxels voxels) const override {
    const auto fits = [](std::uint64_t extent, std::uint64_t most) {
      return extent > 0 && extent <= most && extent <= kMaxBlockExtent;
    };
    const Shape shape = InBlock(voxels.shape());
    const Shape& most = axes_.max_shape ? *axes_.max_shape : shape;
    if (!std::equal(shape.begin(), shape.end(), most.begin(), most.end(), fits)) {
      return Fail(ErrorCode::kInvalidArgument, "N5 block: expected at most the block size ",
                  ListedShape(most), ", found ", ListedShape(shape));
    }
    ByteVector block = MakeN5BlockHeader(shape);
    UNSHARD_ASSIGN_OR_RETURN(const ByteVector payload, items_->Encode(std::move(voxels)));
    block.insert(block.end(), payload.begin(), payload.end());
    return block;
  }

  [[nodiscard]] JsonValue DecodingKey() const override {
    return JsonValue::Array(
        {JsonValue::String(axes_.are_reversed ? "n5_default" : "n5"), items_->DecodingKey()});
  }
  [[nodiscard]] const CodecChain* block() const override { return items_.get(); }

 private:
  // From the axes of the array to those of the block, and back.
  [[nodiscard]] Shape InBlock(ShapeSpan shape) const {
    return axes_.are_reversed ? ReversedShape(shape) : Shape(shape.begin(), shape.end());
  }

  const ChunkCodecPtr items_;
  const BlockAxes axes_;
};

// --- Zarr v3

tl::unexpected<Error> ExpectedChain(const JsonCursor& codecs) {
  return codecs.Expected(
      "transpose with all axes reversed, bytes with the endian \"big\", and at most one more");
}

Result<ArrayToBytesCodecPtr> BindN5Default(const CodecSpec& spec,
                                           const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor codecs, spec.options().Member(kInnerCodecs));
  const ChainSpec& chain = *spec.FindChain(kInnerCodecs);
  const bool of_blocks = (chain.size() == 2 || chain.size() == 3) && chain[0].name == "transpose" &&
                         chain[1].name == "bytes";
  if (!of_blocks) return ExpectedChain(codecs);
  UNSHARD_ASSIGN_OR_RETURN(ChunkCodecPtr items, CodecChain::Bind(chain, codecs.path(), decoded));
  if (*TransposeOrder(chain[0], decoded.rank) != ReversedOrder(decoded.rank)) {
    return ExpectedChain(codecs);
  }
  if (!*IsBigEndian(chain[1]) && decoded.type.ordered_size() > 1) return ExpectedChain(codecs);
  return std::make_shared<N5Block>(std::move(items), BlockAxes{std::nullopt, true});
}

// --- N5

constexpr const char* kN5BlockSize = "blockSize";  // of N5BlockCodec's spec, slowest axis first

Result<ArrayToBytesCodecPtr> BindN5Block(const CodecSpec& spec,
                                         const ArrayRepresentation& decoded) {
  if (spec.dialect != Dialect::kN5) return BindN5Default(spec, decoded);
  UNSHARD_ASSIGN_OR_RETURN(const auto sizes, spec.options().Find(kN5BlockSize));
  UNSHARD_ASSIGN_OR_RETURN(Shape max_shape, sizes->UnsignedItems(0, ~std::uint64_t{0}));
  UNSHARD_ASSIGN_OR_RETURN(ChunkCodecPtr items, CodecChain::Bind(*spec.FindChain(kInnerCodecs),
                                                                 spec.json_path, decoded));
  return std::make_shared<N5Block>(std::move(items), BlockAxes{std::move(max_shape)});
}

}  // namespace

ByteVector MakeN5BlockHeader(std::span<const std::uint64_t> shape) {
  ByteVector header;
  AppendU16Be(header, 0);
  AppendU16Be(header, static_cast<std::uint32_t>(shape.size()));
  for (std::size_t axis = shape.size(); axis-- > 0;)
    AppendU32Be(header, static_cast<std::uint32_t>(shape[axis]));
  return header;
}

Result<ChainSpec> N5ChainSpec(const JsonCursor& compression,
                              const std::vector<std::uint64_t>& block_shape) {
  UNSHARD_ASSIGN_OR_RETURN(CodecSpec parsed, ParseNamedCodec(compression, Dialect::kN5));
  if (parsed.definition == nullptr) {
    return Fail(ErrorCode::kNotSupported, MemberPath(compression.path(), "type"),
                ": unsupported compression \"", parsed.name,
                "\"; expected raw, gzip, bzip2, xz, lz4, blosc or zstd");
  }
  ChainSpec compressors;  // none: raw
  if (parsed.definition->IsBytesToBytes()) compressors.push_back(std::move(parsed));
  return N5ChainSpec(std::move(compressors), compression.path(), block_shape);
}

ChainSpec N5ChainSpec(ChainSpec compressors, const std::string& path,
                      const std::vector<std::uint64_t>& block_shape) {
  CodecSpec block = CodecOfZarr3(
      "n5_default", JsonValue::Object({{kN5BlockSize, ExtentsJson(block_shape)}}), path);
  block.dialect = Dialect::kN5;
  ChainSpec codecs = {
      CodecOfZarr3("bytes", JsonValue::Object({{"endian", JsonValue::String("big")}}))};
  for (CodecSpec& compressor : compressors) codecs.push_back(std::move(compressor));
  block.chains.emplace_back(kInnerCodecs, std::move(codecs));
  return {std::move(block)};
}

const CodecDefinition& N5BlockCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr3, "n5_default"}};
  static constexpr CodecOption kOptions[] = {{.name = kInnerCodecs, .chain_dimensions = 0}};
  static constexpr CodecDefinition kDefinition{kNames, &BindN5Block, kOptions};
  return kDefinition;
}

}  // namespace unshard
