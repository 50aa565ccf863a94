#include "codec/zarr3/n5_default.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "codec/chain/transpose.h"
#include "codec/json/writer.h"
#include "codec/n5/block.h"
#include "codec/voxel/item_codec.h"

namespace unshard {
namespace {

template <class T>
std::vector<T> Reversed(std::span<const T> values) {
  return {values.rbegin(), values.rend()};
}

// The header of a block lists the extents in the order of the array, and the first axis is the
// fastest: such a chunk is an N5 block of an array whose axes, slowest first, are those of this one
// reversed.
class N5DefaultCodec final : public ChunkCodec {
 public:
  N5DefaultCodec(ChunkCodecPtr blocks, std::size_t rank, const JsonValue& configuration)
      : blocks_(std::move(blocks)) {
    for (std::size_t axis = rank; axis-- > 0;) reversal_.push_back(axis);
    encoding_.items = "n5_default " + WriteJson(configuration, 0);
    encoding_.steps = blocks_->encoding().steps;
  }

  [[nodiscard]] const DataType& type() const override { return blocks_->type(); }
  [[nodiscard]] const ChunkEncoding& encoding() const override { return encoding_; }
  [[nodiscard]] Status CanDecode() const override { return blocks_->CanDecode(); }
  [[nodiscard]] Status CanEncode() const override { return blocks_->CanEncode(); }
  [[nodiscard]] std::optional<std::uint64_t> EncodedSize(
      std::span<const std::uint64_t> shape) const override {
    return blocks_->EncodedSize(Reversed(shape));
  }

  [[nodiscard]] Result<Voxels> Decode(ByteSpan encoded,
                                      std::span<const std::uint64_t> shape) const override {
    UNSHARD_RETURN_IF_ERROR(CheckRank(shape.size()));
    UNSHARD_ASSIGN_OR_RETURN(const Voxels block, blocks_->Decode(encoded, Reversed(shape)));
    return Transpose(block, reversal_);
  }

  [[nodiscard]] Result<ByteVector> Encode(Voxels voxels) const override {
    UNSHARD_RETURN_IF_ERROR(CheckRank(voxels.shape().size()));
    UNSHARD_RETURN_IF_ERROR(RefuseOtherType(voxels, type()));
    UNSHARD_ASSIGN_OR_RETURN(Voxels block, Transpose(voxels, reversal_));
    return blocks_->Encode(std::move(block));
  }

 private:
  [[nodiscard]] Status CheckRank(std::size_t rank) const {
    if (rank == reversal_.size()) return {};
    return Fail(ErrorCode::kInvalidArgument, "expected a chunk of " +
                                                 std::to_string(reversal_.size()) +
                                                 " dimensions, found " + std::to_string(rank));
  }

  const ChunkCodecPtr blocks_;
  std::vector<std::size_t> reversal_;
  ChunkEncoding encoding_;
};

tl::unexpected<Error> ExpectedChain(const JsonCursor& codecs) {
  return codecs.Expected(
      "transpose with all axes reversed, bytes with the endian \"big\", and at most one more");
}

}  // namespace

Result<ChunkCodecPtr> MakeN5DefaultCodec(const CodecSpec& codec, const DataType& type,
                                         std::size_t rank) {
  const JsonCursor cursor(codec.json, codec.json_path);
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor configuration, cursor.Member("configuration"));
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor codecs, configuration.Member("codecs"));
  UNSHARD_ASSIGN_OR_RETURN(const ChainSpec chain, ParseChainSpec(codecs, rank));
  const bool of_blocks = (chain.size() == 2 || chain.size() == 3) && chain[0].name == "transpose" &&
                         chain[1].name == "bytes";
  if (!of_blocks) return ExpectedChain(codecs);
  UNSHARD_ASSIGN_OR_RETURN(const auto order, TransposeOrder(chain[0], rank));
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (order[axis] != rank - 1 - axis) return ExpectedChain(codecs);
  }
  const JsonValue* const endian =
      chain[1].configuration() != nullptr ? chain[1].configuration()->Find("endian") : nullptr;
  const bool is_big = endian != nullptr && endian->is_string() && endian->text() == "big";
  if (!is_big && type.ordered_size() > 1) return ExpectedChain(codecs);
  ItemChain items;
  items.decoded.type = type;
  items.big_endian = true;
  if (chain.size() == 3) {
    const CodecSpec& last = chain[2];
    UNSHARD_ASSIGN_OR_RETURN(
        auto made, MakeBytesCodec(last.name, last.configuration(), last.configuration_path()));
    if (!made) {
      return Fail(ErrorCode::kNotSupported, last.json_path + ": the codec \"" + last.name +
                                                "\" is not supported, so voxels cannot be decoded");
    }
    const JsonValue* const options = last.configuration();
    items.bytes_steps.push_back({std::move(made), options != nullptr ? *options : JsonValue()});
  }
  return std::make_shared<N5DefaultCodec>(MakeN5BlockCodec(std::move(items), std::nullopt), rank,
                                          configuration.value());
}

}  // namespace unshard
